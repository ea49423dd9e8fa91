import { useState } from "preact/hooks";
import type { Webhook } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { say } from "../../ui/feedback.tsx";
import { Choice, Field, FormDialog, Group, text } from "../../ui/form.tsx";
import { fromLocal, toLocal } from "../../ui/moments.ts";
import { IN_ZONE } from "../../ui/zone.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function sinceOf(choice: string, fields: FormData, now: number) {
	switch (choice) {
		case "hour":
			return new Date(now - HOUR_MS).toISOString();
		case "day":
			return new Date(now - DAY_MS).toISOString();
		case "skip":
			return new Date().toISOString();
		default:
			return fromLocal(text(fields, "since")) ?? "";
	}
}

const SinceField = ({ webhook, now }: { webhook: Webhook; now: number }) => (
	<Field
		name="since"
		label="Since"
		type="datetime-local"
		step={1}
		required
		max={toLocal(now)}
		defaultValue={toLocal(
			webhook.failing_since ? Date.parse(webhook.failing_since) - 60_000 : now - HOUR_MS,
		)}
		hint={`The time is ${IN_ZONE}.`}
	/>
);

/** A dialog that replays all events since a time, or skips waiting events. */
export function ReplayDialog({
	webhook,
	onReplayed,
	onClose,
}: {
	webhook: Webhook;
	onReplayed: () => void;
	onClose: () => void;
}) {
	const { at } = useOrganization();
	const [choice, setChoice] = useState("hour");
	const [now] = useState(() => Date.now());
	const option = (value: string, label: string, hint?: string) => (
		<Choice
			name="choice"
			value={value}
			label={label}
			{...(hint && { hint })}
			checked={choice === value}
			onChange={() => setChoice(value)}
		/>
	);
	return (
		<FormDialog
			title="Replay events"
			action={choice === "skip" ? "Skip events" : "Replay events"}
			onClose={onClose}
			onSubmit={async (fields) => {
				await api.webhooks.replay({ ...at, ...webhook }, { since: sinceOf(choice, fields, now) });
				say(
					choice === "skip" ? "The waiting events are skipped." : "The events are being replayed.",
				);
				onReplayed();
				onClose();
			}}
		>
			<p>
				All events since then are delivered again in order, including events that were already
				delivered. Older events that are still waiting are skipped.
			</p>
			<Group label="Replay events of">
				{option("hour", "The last hour")}
				{option("day", "The last 24 hours")}
				{option("moment", "Since a time of your choice")}
				{option(
					"skip",
					"None: skip all waiting events",
					"Use this if your endpoint rejects an event.",
				)}
			</Group>
			{choice === "moment" && <SinceField webhook={webhook} now={now} />}
		</FormDialog>
	);
}
