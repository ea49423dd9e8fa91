import { useState } from "preact/hooks";
import type { UpdateWebhookBody, Webhook } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form, FormDialog, text } from "../../ui/form.tsx";
import { Secret } from "./secret.tsx";
import { typesToSend, WhichEvents } from "./types.tsx";

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesIn(webhook: Webhook, fields: FormData, types: string[]) {
	const [url, description] = [text(fields, "url"), text(fields, "description")];
	const isSame = types.toSorted().join() === webhook.types.toSorted().join();
	return {
		...(url !== webhook.url && { url }),
		...(description !== webhook.description && { description }),
		...(!isSame && { types }),
	};
}

/** The form that edits a webhook. `save` closes it. */
export function EditDialog({
	webhook,
	save,
	onClose,
}: {
	webhook: Webhook;
	save: (webhook: Webhook, changes: UpdateWebhookBody, note: string) => Promise<boolean>;
	onClose: () => void;
}) {
	// The page reloads the webhook regularly, so keep the version that the form started with.
	const [before] = useState(webhook);
	const [types, setTypes] = useState(before.types.length > 0 ? before.types : undefined);
	return (
		<FormDialog
			title="Edit webhook"
			action="Save"
			onClose={onClose}
			onSubmit={async (fields) => {
				const changes = changesIn(before, fields, typesToSend(types));
				return save(before, changes, "The webhook is saved.");
			}}
		>
			<Field name="url" label="URL" type="url" required defaultValue={before.url} />
			<Field name="description" label="Description" defaultValue={before.description} />
			<WhichEvents types={types} onChange={setTypes} />
		</FormDialog>
	);
}

export function RollDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
	const { at } = useOrganization();
	const [secret, setSecret] = useState<string>();
	return (
		<Dialog title={secret ? "New secret" : "Roll secret"} onClose={onClose}>
			{secret ? (
				<>
					<Secret secret={secret} />
					<p>The old secret works for 24 more hours. Replace it in your endpoint before then.</p>
					<div class="buttons">
						<button type="button" onClick={onClose}>
							I have copied it
						</button>
					</div>
				</>
			) : (
				<Form
					action="Roll secret"
					onCancel={onClose}
					onSubmit={async () =>
						setSecret((await api.webhooks.roll({ ...at, ...webhook })).secret ?? "")
					}
				>
					<p>
						You get a new secret. For 24 hours, each event is signed with both secrets, so that you
						can replace the old one without missing events.
					</p>
					{webhook.previous_secret_expires_at && (
						<p>
							The secret was rolled less than a day ago. The secret before that stops working
							immediately.
						</p>
					)}
				</Form>
			)}
		</Dialog>
	);
}
