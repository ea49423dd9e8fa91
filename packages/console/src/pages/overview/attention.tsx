/** The list of current and expected problems. */
import type { ComponentChildren } from "preact";
import type {
	AuditStream,
	BatchExport,
	Domain,
	PersonalApiKey,
	PluginConfig,
	Webhook,
} from "tenantry-client";
import { Badge, type Mood, Time } from "../../ui/values.tsx";
import { DAY_MS, lastFailure } from "./state.ts";

/** A key, with the service account that it belongs to; null for the user's own. */
type Key = PersonalApiKey & { account: { id: string; name: string } | null };

export type Found = {
	exports: readonly BatchExport[];
	streams: readonly AuditStream[];
	webhooks: readonly Webhook[];
	configs: readonly PluginConfig[];
	domains: readonly Domain[];
	keys: readonly Key[];
};

type Item = {
	id: string;
	mood: Mood;
	state: string;
	path: string;
	name: string;
	/** The reason. */
	detail: ComponentChildren;
	/** When something will stop working, in milliseconds. */
	due?: number;
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
					mood: failure ? "bad" : "warn",
					state: failure ? "Stopped" : "Paused",
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
	webhooks.flatMap((webhook): Item[] => {
		const { id, url, description, disabled_reason, failing_since, last_error } = webhook;
		const name = description || host(url);
		const item = { id, name, mood: "bad" as const, path: to(`webhooks/${id}`) };
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

const streamItems = (streams: readonly AuditStream[], to: To) =>
	streams.flatMap(({ id, name, enabled, latest_error }): Item[] => {
		const item = { id, name, path: to(`audit_streams/${id}`) };
		if (!enabled)
			return [
				{ ...item, mood: "warn", state: "Paused", detail: "Entries wait until you resume it." },
			];
		return latest_error ? [{ ...item, mood: "bad", state: "Failing", detail: latest_error }] : [];
	});

const configItems = (configs: readonly PluginConfig[], to: To) =>
	configs
		.filter(({ enabled, error }) => enabled && error !== null)
		.map(
			({ id, team_id, name, error }): Item => ({
				id: `config ${id}`,
				mood: "bad",
				state: "Failing",
				path: to(`plugin_configs/${team_id}/${id}`),
				name: name || `Config ${id}`,
				detail: error,
			}),
		);

const keyItems = (keys: readonly Key[], to: To) =>
	keys.flatMap(({ id, label, expires_at, created_at, account }): Item[] => {
		if (!expires_at) return [];
		const end = Date.parse(expires_at);
		// Short-lived keys, such as the key of a session, are meant to expire.
		const isShort = end - Date.parse(created_at) <= DAY_MS;
		if (isShort || end <= Date.now() || end > Date.now() + EXPIRES_DAYS * DAY_MS) return [];
		return [
			{
				id,
				name: account ? `${label} of ${account.name}` : label,
				mood: "warn",
				state: "Expires",
				path: account ? to(`service_accounts/${account.id}/keys/${id}`) : `/console/keys/${id}`,
				detail: (
					<>
						Stops working <Time value={expires_at} isRelative />.
					</>
				),
				due: end,
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

/**
 * The order of problems: what fails, what will stop working soon, what is paused, and what was never
 * finished.
 */
const STATES = ["Failing", "Stopped", "Disabled", "Expires", "Paused", "Not verified"];

/** Returns the problems, the most urgent first. */
export function attentionOf(found: Found, to: To) {
	const items = [
		...exportItems(found.exports, to),
		...streamItems(found.streams, to),
		...webhookItems(found.webhooks, to),
		...configItems(found.configs, to),
		...keyItems(found.keys, to),
		...domainItems(found.domains, to),
	];
	const rank = ({ state }: Item) => STATES.indexOf(state);
	return items.sort((a, b) => rank(a) - rank(b) || (a.due ?? 0) - (b.due ?? 0));
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
