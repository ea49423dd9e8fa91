/** What an export hasn't delivered, and what to do about it (docs/console.md#batch-exports). */
import { api } from "../../session.ts";
import { Button, SecondaryButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { type Opened, sayRange, windows } from "./states.tsx";

/** Says what a retry has started. */
export const sayRetried = ({ windows: n, waiting }: { windows: number; waiting: number }) =>
	say(
		waiting > 0
			? `${windows(n)} are exported again. ${windows(waiting)} can be retried in a minute.`
			: n === 0
				? "Nothing is left to retry."
				: `${windows(n)} ${n === 1 ? "is" : "are"} exported again.`,
	);

async function dismiss({ of, at }: Pick<Opened, "of" | "at">) {
	const isSure = await confirm({
		title: "Dismiss these windows?",
		text: "They no longer count as not delivered. Their runs stay in the list, and you can still retry each of them. The activity log says who dismissed them.",
		action: "Dismiss",
		isDangerous: false,
	});
	if (isSure) await api.batchExports.dismiss(at);
	if (isSure) say(`The windows of ${of.name} that weren't delivered are dismissed.`);
	return isSure;
}

export function Undelivered({
	of,
	at,
	onDone,
}: Pick<Opened, "of" | "at"> & { onDone: () => void }) {
	const { undelivered } = of;
	if (!undelivered) return null;
	const { start_at, end_at, latest_error } = undelivered;
	const n = undelivered.windows;
	return (
		<section class="problem export-failure" aria-label="Not delivered">
			<p>
				<strong>
					{windows(n)} {n === 1 ? "wasn't" : "weren't"} delivered
				</strong>
				, from {sayRange({ start: Date.parse(start_at), end: Date.parse(end_at) })}. {latest_error}
			</p>
			<p class="row">
				<Button
					onPress={async () => {
						sayRetried(await api.batchExports.retry(at));
						onDone();
					}}
				>
					{n === 1 ? "Retry it" : `Retry all ${n}`}
				</Button>
				<SecondaryButton
					onPress={async () => {
						if (await dismiss({ of, at })) onDone();
					}}
				>
					Dismiss
				</SecondaryButton>
			</p>
		</section>
	);
}
