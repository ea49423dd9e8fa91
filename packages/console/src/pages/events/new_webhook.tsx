import { useState } from "preact/hooks";
import type { Webhook } from "tenantry-client";
import { useLoad, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { AdminsOnly } from "./admins_only.tsx";
import { AddressFields, ChooseFormat, type Format } from "./formats.tsx";
import { Secret } from "./secret.tsx";
import { typesToSend, WhichEvents } from "./types.tsx";

type Created = { id: string; secret: string };

/** The form of a new webhook. `of` is the one that it is a copy of. */
function NewForm({ of, onCreated }: { of?: Webhook; onCreated: (created: Created) => void }) {
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	const [{ types: suggested }] = useQuery();
	const [types, setTypes] = useState(of?.types.length ? of.types : suggested?.split(","));
	const [format, setFormat] = useState<Format>(of?.format ?? "standard");
	return (
		<Form
			action="Add webhook"
			onCancel={() => navigate(to(of ? `webhooks/${of.id}` : "webhooks"))}
			onSubmit={async (fields) => {
				const [url, routing_key] = [text(fields, "url"), text(fields, "routing_key")];
				const { id, secret } = await api.webhooks.create(at, {
					format,
					...(url && { url }),
					...(routing_key && { routing_key }),
					description: text(fields, "description"),
					types: typesToSend(types),
					...(of && { has_origin: of.has_origin }),
				});
				// Other services don't verify signatures.
				if (format === "standard") onCreated({ id, secret: secret ?? "" });
				else navigate(to(`webhooks/${id}`), true);
			}}
		>
			<ChooseFormat format={format} onChange={setFormat} />
			<AddressFields
				key={format}
				format={format}
				url={format === of?.format ? of.url : undefined}
			/>
			<Field
				name="description"
				label="Description"
				maxLength={400}
				defaultValue={of?.description}
				hint="Optional. Only admins see it."
			/>
			<WhichEvents types={types} onChange={setTypes} />
		</Form>
	);
}

/** The form with the settings of a webhook. It gets a secret of its own. */
function CopyForm({ id, onCreated }: { id: string; onCreated: (created: Created) => void }) {
	const { at } = useOrganization();
	const loaded = useLoad((signal) => api.webhooks.get({ ...at, id }, { signal }), [id]);
	return <Show of={loaded}>{(of) => <NewForm key={id} of={of} onCreated={onCreated} />}</Show>;
}

export default function NewWebhook() {
	const { isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	const [{ of }] = useQuery();
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
		<PageView
			title={of ? "Duplicate webhook" : "Add webhook"}
			above={above}
			lead={of && "The copy has a secret of its own, and starts with the next event."}
		>
			{of ? <CopyForm id={of} onCreated={setCreated} /> : <NewForm onCreated={setCreated} />}
		</PageView>
	);
}
