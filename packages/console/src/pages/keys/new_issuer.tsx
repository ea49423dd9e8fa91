import { useNavigate } from "../../load.ts";
import { api } from "../../session.ts";
import { say } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";
import { IssuerForm } from "./issuer_form.tsx";
import { type Of, useIssuers } from "./issuer_list.tsx";

export default function NewIssuer({ account, keys }: Of) {
	const { within, page, to } = useIssuers({ account });
	const navigate = useNavigate();
	return (
		<PageView title="Trust an issuer" above={keys.above}>
			<IssuerForm
				keys={keys}
				action="Trust issuer"
				onSubmit={async (settings) => {
					const { id, name } = await api.trustedIssuers.create(within, settings);
					navigate(to(id));
					say(`“${name}” is trusted.`);
				}}
				onCancel={() => navigate(page)}
			/>
		</PageView>
	);
}
