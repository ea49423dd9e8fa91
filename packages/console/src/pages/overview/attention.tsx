/** What needs attention: what is broken, and what will be. */
import type { ComponentChildren } from "preact";
import type { BatchExport, Domain, PersonalApiKey, Webhook } from "tenantry-client";
import { Badge, type Mood, Time } from "../../ui/values.tsx";
import { DAY_MS, lastFailure } from "./state.ts";

export type Found = {
	exports: readonly BatchExport[];
	webhooks: readonly Webhook[];
	domains: readonly Domain[];
	keys: readonly PersonalApiKey[];
};

type Item = {
	id: string;
	mood: Mood;
	state: string;
	path: string;
	name: string;
	/** Why it is in the list. */
	detail: ComponentChildren;
};

type To = (path: string) => string;

/** How long before its end a key is named. */
const EXPIRES_DAYS = 7;

const host = (url: string) => (URL.canParse(url) ? new URL(url).host : url);

const exportItems = (exports: readonly BatchExport[], to: To) =>
	exports.flatMap((found): Item[] => {
		const { id, name, paused, last_paused_at } = found;
		const failure = lastFailure(found);
		const item = { id, name, path: to(`batch_exports/${id}`) };
		const because = failure && `: ${failure.latest_error ?? failure.status}`;
		if (paused)
			return [
				{
					...item,
					mood: "warn",
					state: "Paused",
					detail: last_paused_at ? (
						<>
							Paused <Time value={last_paused_at} isRelative />
							{because}
						</>
					) : (
						"It exports nothing until somebody unpauses it."
					),
				},
			];
		if (!failure) return [];
		return [
			{
				...item,
				mood: "bad",
				state: "Failing",
				path: to(`batch_exports/${id}/runs/${failure.id}`),
				detail: failure.latest_error ?? "The last run failed.",
			},
		];
	});

const webhookItems = (webhooks: readonly Webhook[], to: To) =>
	webhooks.flatMap(({ id, url, disabled_reason, failing_since, last_error }): Item[] => {
		const item = { id, name: host(url), mood: "bad" as const, path: to(`webhooks/${id}`) };
		if (disabled_reason) return [{ ...item, state: "Disabled", detail: disabled_reason }];
		if (!failing_since) return [];
		return [
			{
				...item,
				state: "Failing",
				detail: (
					<>
						Since <Time value={failing_since} isRelative />: {last_error}
					</>
				),
			},
		];
	});

const keyItems = (keys: readonly PersonalApiKey[]) =>
	keys.flatMap(({ id, label, expires_at, created_at }): Item[] => {
		if (!expires_at) return [];
		const end = Date.parse(expires_at);
		// A key that was made for a day, such as that of a session, is meant to end.
		const isShort = end - Date.parse(created_at) <= DAY_MS;
		if (isShort || end <= Date.now() || end > Date.now() + EXPIRES_DAYS * DAY_MS) return [];
		return [
			{
				id,
				name: label,
				mood: "warn",
				state: "Expires",
				path: `/console/keys/${id}`,
				detail: (
					<>
						Stops working <Time value={expires_at} isRelative />. Roll it before.
					</>
				),
			},
		];
	});

const domainItems = (domains: readonly Domain[], to: To) =>
	domains
		.filter(({ is_verified }) => !is_verified)
		.map(
			({ id, domain }): Item => ({
				id,
				name: domain,
				mood: "warn",
				state: "Not verified",
				path: to(`domains/${id}`),
				detail: "Publish its TXT record, then verify it.",
			}),
		);

const MOODS: readonly Mood[] = ["bad", "warn"];

/** What needs attention, the most urgent first. */
export function attentionOf({ exports, webhooks, domains, keys }: Found, to: To) {
	const items = [
		...exportItems(exports, to),
		...webhookItems(webhooks, to),
		...keyItems(keys),
		...domainItems(domains, to),
	];
	return items.sort((a, b) => MOODS.indexOf(a.mood) - MOODS.indexOf(b.mood));
}

export function Attention({ items }: { items: readonly Item[] }) {
	if (items.length === 0)
		return (
			<p class="panel all-well">
				<Badge mood="good">All well</Badge> Nothing fails, is paused or is about to expire.
			</p>
		);
	return (
		<ul class="panel attention">
			{items.map(({ id, mood, state, path, name, detail }) => (
				<li key={id}>
					<span>
						<Badge mood={mood}>{state}</Badge>
					</span>
					<div>
						<a href={path}>{name}</a>
						<p>{detail}</p>
					</div>
				</li>
			))}
		</ul>
	);
}
