import { useState } from "preact/hooks";
import type { UpdateWebhookBody, Webhook } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form, FormDialog, text } from "../../ui/form.tsx";
import { OverlapChoice, overlapIn } from "../../ui/overlap.tsx";
import { Time } from "../../ui/values.tsx";
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
	const [rolled, setRolled] = useState<Webhook>();
	const until = rolled?.previous_secret_expires_at;
	return (
		<Dialog title={rolled ? "New secret" : "Roll secret"} onClose={onClose}>
			{rolled ? (
				<>
					<Secret secret={rolled.secret ?? ""} />
					<p>
						{until ? (
							<>
								The old secret works until <Time value={until} />. Replace it in your endpoint
								before then.
							</>
						) : (
							"The old secret no longer works. Replace it in your endpoint now: deliveries that it rejects are repeated."
						)}
					</p>
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
					asks={false}
					onSubmit={async (fields) =>
						setRolled(
							await api.webhooks.roll({ ...at, ...webhook }, { overlap: overlapIn(fields) }),
						)
					}
				>
					<p>
						You get a new secret. Until the old one ends, each event is signed with both, so that
						you can replace it without missing events.
					</p>
					{webhook.previous_secret_expires_at && (
						<p>
							The secret was rolled less than a day ago. The secret before that stops working
							immediately.
						</p>
					)}
					<OverlapChoice
						label="When the old secret stops working"
						leaked="If it has leaked. Your endpoint rejects events until it has the new secret."
						chosen="24h"
					/>
				</Form>
			)}
		</Dialog>
	);
}
