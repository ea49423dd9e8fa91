/** The list of current and expected problems. */
import type { ComponentChildren } from "preact";
import type { BatchExport, Domain, PersonalApiKey, Webhook } from "tenantry-client";
import { Badge, type Mood, Time } from "../../ui/values.tsx";
import { DAY_MS, lastFailure } from "./state.ts";

type Found = {
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
	/** The reason. */
	detail: ComponentChildren;
};

type To = (path: string) => string;

/** Keys that expire within this many days are listed. */
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
						"Nothing is exported until it is resumed."
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
		// Short-lived keys, such as the key of a session, are meant to expire.
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
						Stops working <Time value={expires_at} isRelative />.
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
				detail: "Add the TXT record to your DNS, then verify the domain.",
			}),
		);

const MOODS: readonly Mood[] = ["bad", "warn"];

/** Returns the problems, the most urgent first. */
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
				<Badge mood="good">All good</Badge> Nothing is failing, paused or about to expire.
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
