import type { ComponentChildren } from "preact";
import type { Webhook, WebhookDelivery } from "tenantry-client";
import { Badge, Count, type Mood, Time } from "../../ui/values.tsx";
import { wordsOfTypes } from "./kinds.ts";

export type Health = "healthy" | "failing" | "disabled" | "paused" | "new";

export function healthOf(webhook: Webhook): Health {
	if (webhook.disabled_reason !== null) return "disabled";
	if (!webhook.enabled) return "paused";
	if (webhook.failing_since !== null) return "failing";
	return webhook.last_delivery === null ? "new" : "healthy";
}

export const HEALTH: Record<Health, readonly [words: string, mood: Mood]> = {
	healthy: ["Healthy", "good"],
	failing: ["Failing", "bad"],
	disabled: ["Disabled", "bad"],
	paused: ["Paused", "warn"],
	new: ["No events yet", "quiet"],
};

export function HealthBadge({ webhook }: { webhook: Webhook }) {
	const [words, mood] = HEALTH[healthOf(webhook)];
	return <Badge mood={mood}>{words}</Badge>;
}

export function healthDetail(webhook: Webhook): ComponentChildren {
	const { failing_since, next_attempt_at, disabled_reason } = webhook;
	switch (healthOf(webhook)) {
		case "disabled":
			return disabled_reason;
		case "paused":
			return "Events wait until you resume it.";
		case "failing":
			return (
				<>
					since <Time value={failing_since} isRelative />, next attempt{" "}
					<Time value={next_attempt_at} isRelative />
				</>
			);
		default:
			return undefined;
	}
}

const DURATION = new Intl.NumberFormat(undefined, { style: "unit", unit: "millisecond" });
const SECONDS = new Intl.NumberFormat(undefined, {
	style: "unit",
	unit: "second",
	maximumFractionDigits: 1,
});

export const durationOf = ({ duration_ms: ms }: WebhookDelivery) =>
	ms < 1000 ? DURATION.format(ms) : SECONDS.format(ms / 1000);

export const Outcome = ({ delivery }: { delivery: WebhookDelivery }) => (
	<Badge mood={delivery.status === "delivered" ? "good" : "bad"}>
		{delivery.response_status === null ? "No response" : String(delivery.response_status)}
	</Badge>
);

/** The number of event types that a list shows. */
const NAMED = 2;

/** A summary of the events that a webhook subscribes to, with all of them in the tooltip. */
export function Types({ types }: { types: readonly string[] }) {
	if (types.length === 0) return <>All events</>;
	const words = wordsOfTypes(types);
	const rest = words.length - NAMED;
	return (
		<span title={words.join(", ")}>
			{words.slice(0, NAMED).join(", ")}
			{rest > 0 && (
				<>
					{" "}
					and <Count value={rest} /> more
				</>
			)}
		</span>
	);
}

/** Returns the host of a webhook's URL. The path may contain a secret. */
export const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : url);
