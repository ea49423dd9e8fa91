import type { Credential } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Download } from "../../ui/download.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { hourAfter } from "../../ui/moments.ts";
import { PageView } from "../../ui/page.tsx";
import { summaryOf } from "../../ui/scopes.ts";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import { expiresSoon, isUnused, UNUSED_DAYS } from "./states.ts";

type Kind = Credential["kind"];

/** The filter for what ends soon. */
const ENDS_DAYS = 30;

/** The words for a kind, and for several, and what those without scopes do. */
const KINDS: Record<Kind, readonly [one: string, many: string, does?: string]> = {
	personal_api_key: ["API key", "API keys"],
	service_account_key: ["Service account key", "Service account keys"],
	oauth_grant: ["App", "Apps"],
	trusted_issuer: ["Trusted issuer", "Trusted issuers"],
	scim_token: ["SCIM token", "SCIM tokens", "Manages the members of the domain"],
	webhook: ["Webhook secret", "Webhook secrets", "Signs the messages of the webhook"],
};

const isKind = (text: string): text is Kind => text in KINDS;

/** The path of the page where a credential is managed. */
function pathOf({ id, kind, owner }: Credential) {
	switch (kind) {
		case "service_account_key":
			return `service_accounts/${owner.id}/keys/${id}`;
		case "trusted_issuer":
			return `service_accounts/${owner.id}/issuers/${id}`;
		case "oauth_grant":
			return "apps";
		case "scim_token":
			return `domains/${owner.id}`;
		case "webhook":
			return `webhooks/${id}`;
		case "personal_api_key":
			return `members/${owner.id}`;
	}
}

/** The path of the page about an owner; undefined if it is the organization. */
function ownerPath({ owner: { kind, id } }: Credential) {
	switch (kind) {
		case "user":
			return `members/${id}`;
		case "service_account":
			return `service_accounts/${id}`;
		case "domain":
			return `domains/${id}`;
		case "organization":
			return undefined;
	}
}

const link = (path: string | undefined, words: string) =>
	path === undefined ? words : <a href={path}>{words}</a>;

const NEVER = <span class="whole-words">Never</span>;

const columnsOf = (to: (path: string) => string): Column<Credential>[] => {
	const at = (path: string | undefined) => path && to(path);
	return [
		{
			title: "Credential",
			cell: (one) => (
				<>
					<strong>{link(at(pathOf(one)), one.label)}</strong>
					<small class="below">{KINDS[one.kind][0]}</small>
				</>
			),
		},
		{
			title: "Owner",
			cell: (one) => (
				<>
					{link(at(ownerPath(one)), one.owner.name || (one.owner.email ?? ""))}
					{one.owner.name && one.owner.email && <small class="below">{one.owner.email}</small>}
				</>
			),
		},
		{
			title: "Permissions",
			cell: ({ kind, scopes, scoped_projects: { length } }) => (
				<>
					{KINDS[kind][2] ?? summaryOf(scopes)}
					{length > 0 && (
						<small class="below">Only {length === 1 ? "one project" : `${length} projects`}</small>
					)}
				</>
			),
		},
		{
			title: "Last used",
			cell: (one) => {
				const time = one.last_used_at ? <Time value={one.last_used_at} isRelative /> : NEVER;
				return isUnused(one) ? <Badge mood="warn">{time}</Badge> : time;
			},
		},
		{
			title: "Ends",
			cell: (one) => {
				if (!one.expires_at)
					return one.kind === "oauth_grant" ? "When not used for 30 days" : NEVER;
				const time = <Time value={one.expires_at} isRelative />;
				return expiresSoon(one) ? <Badge mood="warn">{time}</Badge> : time;
			},
		},
	];
};

/** The filters in the URL, as the parameters of the list. */
function useFilters() {
	const [{ search, kind = "", state }] = useQuery();
	return {
		...(search && { search }),
		...(isKind(kind) && { kind }),
		...(state === "unused" && { unused_since: hourAfter(-UNUSED_DAYS) }),
		...(state === "ends" && { expires_before: hourAfter(ENDS_DAYS) }),
	};
}

function List() {
	const { at, organization, to } = useOrganization();
	const { kind, ...filters } = useFilters();
	const list = useList(
		(page, signal) =>
			api.credentials.list(
				{ ...at, ...page, ...filters, ...(kind && { kind: [kind] }) },
				{ signal },
			),
		[organization.id, kind, JSON.stringify(filters)],
	);
	return (
		<PageView
			title="Credentials"
			lead="All that lets programs into this organization, or speaks for it. Values are never shown."
			actions={
				<Download
					path={`/api/organizations/${organization.id}/credentials`}
					filters={{ ...filters, ...(kind && { kind }) }}
					name="credentials"
					count={list.data?.count}
					words={["credential", "credentials"]}
				/>
			}
		>
			<Filters>
				<Search label="Search credentials" />
				<Filter
					name="kind"
					label="Kind"
					options={[
						["", "All kinds"],
						...Object.entries(KINDS).map(([kind, [, many]]) => [kind, many] as const),
					]}
				/>
				<Filter
					name="state"
					label="Use"
					options={[
						["", "Used or not"],
						["unused", `Not used for ${UNUSED_DAYS} days`],
						["ends", `End within ${ENDS_DAYS} days`],
					]}
				/>
			</Filters>
			<Table
				list={list}
				label="Credentials"
				columns={columnsOf(to)}
				empty={
					<Empty title="No credentials found">
						No credential matches the search and the filters.
					</Empty>
				}
			/>
		</PageView>
	);
}

/** All credentials of an organization (docs/audit.md#credentials). */
export default function Credentials() {
	const { isAdmin } = useOrganization();
	return isAdmin ? (
		<List />
	) : (
		<PageView title="Credentials">
			<Empty title="Only admins can see this">
				Your own keys are on the page <a href="/console/keys">API keys</a>.
			</Empty>
		</PageView>
	);
}
