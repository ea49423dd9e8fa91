import { useState } from "preact/hooks";
import type { Received, Webhook } from "tenantry-client";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Choice, Field, Form, Group, text } from "../../ui/form.tsx";
import { isoOf, toLocalInput } from "../../ui/moments.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Delivers everything since a moment, or passes over what waits. */
export function ReplayDialog({
	webhook,
	onReplayed,
	onClose,
}: {
	webhook: Received<Webhook, "webhooks">;
	onReplayed: () => void;
	onClose: () => void;
}) {
	const [choice, setChoice] = useState("hour");
	const [now] = useState(() => Date.now());
	const since = (fields: FormData) => {
		switch (choice) {
			case "hour":
				return new Date(now - HOUR_MS).toISOString();
			case "day":
				return new Date(now - DAY_MS).toISOString();
			case "skip":
				return new Date().toISOString();
			default:
				return isoOf(text(fields, "since"));
		}
	};
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
		<Dialog title="Replay events" onClose={onClose}>
			<Form
				action={choice === "skip" ? "Skip events" : "Replay events"}
				onCancel={onClose}
				onSubmit={async (fields) => {
					await api.webhooks.replay(webhook, { since: since(fields) });
					say(choice === "skip" ? "What waited is passed over." : "Events are on their way again.");
					onReplayed();
					onClose();
				}}
			>
				<p>
					Every event since then is delivered again, in order, also if it arrived before. What is
					older and still waits isn’t delivered any more.
				</p>
				<Group label="Events of">
					{option("hour", "The last hour")}
					{option("day", "The last 24 hours")}
					{option("moment", "Since a moment of your choice")}
					{option(
						"skip",
						"None: go on with what happens from now",
						"The way past an event that your endpoint refuses.",
					)}
				</Group>
				{choice === "moment" && (
					<Field
						name="since"
						label="Since"
						type="datetime-local"
						step={1}
						required
						max={toLocalInput(new Date(now))}
						defaultValue={toLocalInput(
							new Date(
								webhook.failing_since ? Date.parse(webhook.failing_since) - 60_000 : now - HOUR_MS,
							),
						)}
						hint="In your time zone."
					/>
				)}
			</Form>
		</Dialog>
	);
}
