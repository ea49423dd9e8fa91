import { useState } from "preact/hooks";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { AdminsOnly } from "./admins_only.tsx";
import { Secret } from "./secret.tsx";
import { typesToSend, WhichEvents } from "./types.tsx";

type Created = { id: string; secret: string };

export default function NewWebhook() {
	const { at, isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	const [types, setTypes] = useState<string[]>();
	const [created, setCreated] = useState<Created>();
	const above = [[to("webhooks"), "Webhooks"]] as const;
	if (!isAdmin)
		return <AdminsOnly title="Webhooks" text="Webhooks receive events of all projects." />;
	if (created)
		return (
			<PageView title="Webhook added" above={above}>
				<div class="panel">
					<Secret secret={created.secret} />
					<button type="button" onClick={() => navigate(to(`webhooks/${created.id}`), true)}>
						I have copied it
					</button>
				</div>
			</PageView>
		);
	return (
		<PageView title="Add webhook" above={above}>
			<Form
				action="Add webhook"
				onCancel={() => navigate(to("webhooks"))}
				onSubmit={async (fields) => {
					const { id, secret } = await api.webhooks.create(at, {
						url: text(fields, "url"),
						description: text(fields, "description"),
						types: typesToSend(types),
					});
					setCreated({ id, secret: secret ?? "" });
				}}
			>
				<Field
					name="url"
					label="URL"
					type="url"
					required
					maxLength={2048}
					placeholder="https://example.com/hooks"
					hint="Receives a POST request for each event. It must respond with a 2xx status within 15 seconds."
				/>
				<Field
					name="description"
					label="Description"
					maxLength={400}
					hint="Optional. Only admins see it."
				/>
				<WhichEvents types={types} onChange={setTypes} />
			</Form>
		</PageView>
	);
}
