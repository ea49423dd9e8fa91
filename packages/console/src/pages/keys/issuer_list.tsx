/** The issuers that a service account trusts: programs with their tokens need no stored key. */
import type { PersonalApiKey, ServiceAccount, TrustedIssuer } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { summaryOf } from "../../ui/scopes.ts";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import type { Keys } from "./keys.ts";

export type OfAccount = { account: Pick<ServiceAccount, "id" | "name"> };

/** With the keys of the account. */
export type Of = OfAccount & { keys: Keys<PersonalApiKey> };

/** Returns the parameters of the account's issuers, and the paths of their pages. */
export function useIssuers({ account }: OfAccount) {
	const { at, to } = useOrganization();
	const page = to(`service_accounts/${account.id}`);
	return {
		within: { ...at, account: account.id },
		page,
		to: (path: string) => `${page}/issuers/${path}`,
	};
}

const columnsOf = (to: (path: string) => string): Column<TrustedIssuer>[] => [
	{
		title: "Name",
		value: ({ name }) => name,
		cell: ({ id, name, issuer }) => (
			<>
				<a href={to(id)}>
					<strong>{name}</strong>
				</a>
				<small class="below">{issuer}</small>
			</>
		),
	},
	{
		title: "Subject",
		value: ({ subject }) => subject,
		cell: ({ subject }) => <code class="key-value">{subject}</code>,
	},
	{
		title: "Permissions",
		value: ({ scopes }) => summaryOf(scopes),
		cell: ({ scopes }) => summaryOf(scopes),
	},
	{
		title: "Last used",
		value: ({ last_used_at }) => last_used_at,
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
];

export function IssuerSection({ account }: OfAccount) {
	const { within, to } = useIssuers({ account });
	const columns = columnsOf(to);
	const list = useSorted(
		(range, options) => api.trustedIssuers.list({ ...within, ...range }, options),
		[account.id],
		{ columns, name: "trusted-issuers", parameter: "issuers_offset" },
	);
	return (
		<Section
			title="Trusted issuers"
			actions={
				<a class="button secondary" href={to("new")}>
					Trust an issuer
				</a>
			}
		>
			<Table
				list={list}
				label="Trusted issuers"
				columns={columns}
				empty={
					<Empty title="No trusted issuers yet">
						Jobs of GitHub Actions, GitLab CI and others can get a key for 15 minutes, so that you
						don't have to store one.
					</Empty>
				}
			/>
		</Section>
	);
}
