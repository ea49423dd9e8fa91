import { useState } from "preact/hooks";
import { useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { AdminsOnly } from "./admins_only.tsx";
import { AddressFields, ChooseFormat, type Format } from "./formats.tsx";
import { Secret } from "./secret.tsx";
import { typesToSend, WhichEvents } from "./types.tsx";

type Created = { id: string; secret: string };

export default function NewWebhook() {
	const { at, isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	const [{ types: suggested }] = useQuery();
	const [types, setTypes] = useState(suggested?.split(","));
	const [format, setFormat] = useState<Format>("standard");
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
					const [url, routing_key] = [text(fields, "url"), text(fields, "routing_key")];
					const { id, secret } = await api.webhooks.create(at, {
						format,
						...(url && { url }),
						...(routing_key && { routing_key }),
						description: text(fields, "description"),
						types: typesToSend(types),
					});
					// Other services don't verify signatures.
					if (format === "standard") setCreated({ id, secret: secret ?? "" });
					else navigate(to(`webhooks/${id}`), true);
				}}
			>
				<ChooseFormat format={format} onChange={setFormat} />
				<AddressFields key={format} format={format} />
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
