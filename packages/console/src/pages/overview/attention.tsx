/** The list of current and expected problems. */
import type { AttentionItem, Attention as Found } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { say } from "../../ui/feedback.tsx";
import { Badge, type Mood, Time } from "../../ui/values.tsx";

const STATES: Record<AttentionItem["state"], readonly [words: string, mood: Mood]> = {
	failing: ["Failing", "bad"],
	stopped: ["Stopped", "bad"],
	disabled: ["Disabled", "bad"],
	expires: ["Expires", "warn"],
	paused: ["Paused", "warn"],
	not_verified: ["Not verified", "warn"],
};

type To = (path: string) => string;

/** Returns the path of the page about a problem. */
function pathOf({ kind, id, project_id, service_account_id }: AttentionItem, to: To) {
	switch (kind) {
		case "batch_export":
			return to(`batch_exports/${id}`);
		case "audit_stream":
			return to(`audit_streams/${id}`);
		case "webhook":
			return to(`webhooks/${id}`);
		case "plugin_config":
			return to(`plugin_configs/${project_id}/${id}`);
		case "personal_api_key":
			return `/console/keys/${id}`;
		case "service_account_key":
			return to(`service_accounts/${service_account_id}/keys/${id}`);
		case "domain":
			return to(`domains/${id}`);
	}
}

const windows = (n: number) => (n === 1 ? "1 window" : `${n} windows`);

/** Says why something needs attention. */
function Detail({ item }: { item: AttentionItem }) {
	const { kind, state, detail, since, expires_at, undelivered_windows: missing } = item;
	if (expires_at)
		return (
			<>
				Stops working <Time value={expires_at} isRelative />.
			</>
		);
	if (kind === "domain") return <>Add the TXT record to your DNS, then verify the domain.</>;
	if (missing)
		return (
			<>
				{windows(missing)} not delivered, the oldest <Time value={since} isRelative />
				{detail ? `: ${detail}` : "."}
			</>
		);
	if (state === "paused" && kind === "audit_stream")
		return <>{detail ?? "Entries wait until you resume it."}</>;
	if (state === "paused" && !since)
		return <>{detail ?? "Nothing is exported until it is resumed."}</>;
	return (
		<>
			{since && (
				<>
					{state === "paused" ? "Paused" : "Since"} <Time value={since} isRelative />
					{detail && ": "}
				</>
			)}
			{detail}
		</>
	);
}

/** Exports the windows of an export that weren't delivered. */
function Retry({ item, onDone }: { item: AttentionItem; onDone: () => void }) {
	const { at } = useOrganization();
	async function retry() {
		const { windows: n, waiting } = await api.batchExports.retry({ ...at, id: item.id });
		say(
			waiting > 0
				? `${windows(n)} of ${item.name} are exported again; try the others in a minute.`
				: `${windows(n)} of ${item.name} ${n === 1 ? "is" : "are"} exported again.`,
		);
		onDone();
	}
	return (
		<SmallButton aria-label={`Retry ${item.name}`} onPress={retry}>
			Retry
		</SmallButton>
	);
}

export function Attention({ items, onDone }: Pick<Found, "items"> & { onDone: () => void }) {
	const { to } = useOrganization();
	if (items.length === 0)
		return (
			<p class="panel all-well">
				<Badge mood="good">All good</Badge> Nothing is failing, paused or about to expire.
			</p>
		);
	return (
		<ul class="panel attention">
			{items.map((item) => {
				const [words, mood] = STATES[item.state];
				return (
					<li key={`${item.kind} ${item.id}`}>
						<span>
							<Badge mood={mood}>{words}</Badge>
						</span>
						<div>
							<a href={pathOf(item, to)}>{item.name}</a>
							<p>
								<Detail item={item} />{" "}
								{(item.undelivered_windows ?? 0) > 0 && <Retry item={item} onDone={onDone} />}
							</p>
						</div>
					</li>
				);
			})}
		</ul>
	);
}
