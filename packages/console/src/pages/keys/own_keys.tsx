import { useLoad } from "../../load.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";
import { KeyList } from "./key_list.tsx";
import { getCurrentKey, ownKeys } from "./keys.ts";

export default function OwnKeys() {
	const current = useLoad((signal) => getCurrentKey({ signal }), []);
	return (
		<PageView
			title="API keys"
			lead="Use keys to call the API as yourself, in scripts and on the command line. For programs that others depend on, create a service account."
			actions={<LinkButton href={ownKeys.to("new")}>New key</LinkButton>}
		>
			<KeyList
				keys={ownKeys}
				currentId={current.data?.id}
				empty={<Empty title="You have no keys" />}
			/>
		</PageView>
	);
}
