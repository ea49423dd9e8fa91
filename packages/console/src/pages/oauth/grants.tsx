/** The access of apps (docs/oauth.md). */
import type { OauthGrant, OrganizationOauthGrant } from "tenantry-client";
import { summaryOf } from "../../ui/scopes.ts";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";

type Grant = OauthGrant | OrganizationOauthGrant;

/** The app's name for itself, below the host that is responsible for it. */
export const app = <G extends Grant>(): Column<G> => ({
	title: "App",
	value: ({ client_name, client_host }) => client_host ?? client_name,
	cell: ({ client_name, client_host }) => (
		<>
			<strong>{client_host ?? `“${client_name}”`}</strong>
			<small class="below">
				{client_host ? `calls itself “${client_name}”` : "no host is responsible for it"}
			</small>
		</>
	),
});

export const permissions = <G extends Grant>(where?: (grant: G) => string): Column<G> => ({
	title: "Permissions",
	value: ({ scopes }) => summaryOf(scopes),
	cell: (grant) => (
		<>
			{summaryOf(grant.scopes)}
			{where && <small class="below">{where(grant)}</small>}
		</>
	),
});

export const times = <G extends Grant>(): Column<G>[] => [
	{
		title: "Last used",
		value: ({ last_used_at }) => last_used_at,
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
	{
		title: "Ends",
		value: ({ ends_at }) => ends_at,
		cell: ({ ends_at }) =>
			ends_at ? <Time value={ends_at} isRelative /> : "When not used for 30 days",
	},
];
