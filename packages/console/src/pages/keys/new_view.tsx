import { useState } from "preact/hooks";
import type { PersonalApiKey } from "tenantry-client";
import { useLoad, useNavigate } from "../../load.ts";
import { Show } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";
import { KeyForm } from "./key_form.tsx";
import { getCurrentKey, type Keys } from "./keys.ts";
import { Made } from "./made.tsx";

export function NewKey<K extends PersonalApiKey>({ keys }: { keys: Keys<K> }) {
	const navigate = useNavigate();
	const [made, setMade] = useState<PersonalApiKey>();
	const current = useLoad(async (signal) => ({ key: await getCurrentKey({ signal }) }), []);
	if (made)
		return (
			<PageView
				title={`“${made.label}” is created`}
				above={keys.above}
				actions={
					<a class="button secondary" href={keys.to(made.id)}>
						View key
					</a>
				}
			>
				<Made made={made} organization={keys.organization} />
			</PageView>
		);
	return (
		<PageView title="New key" above={keys.above}>
			<Show of={current}>
				{({ key }) => (
					<KeyForm
						keys={keys}
						current={key}
						action="Create key"
						onSubmit={async (settings) => setMade(await keys.create(settings))}
						onCancel={() => navigate(keys.above.at(-1)?.[0] ?? "")}
					/>
				)}
			</Show>
		</PageView>
	);
}
