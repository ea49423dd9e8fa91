import type { AccessReview } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Download } from "../../ui/download.tsx";
import { Filter, Filters } from "../../ui/filters.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, levelName, Person, Time } from "../../ui/values.tsx";
import { People } from "./parts.tsx";

const DAY_MS = 86_400_000;

/** For how long somebody was inactive. */
const INACTIVE = [
	["", "Active or not"],
	["30", "Inactive for 30 days"],
	["90", "Inactive for 90 days"],
	["365", "Inactive for a year"],
] as const;

/** Returns the start of the day so many days ago, so that reloading asks for the same. */
const daysAgo = (days: number) => {
	const day = new Date(Date.now() - days * DAY_MS);
	day.setUTCHours(0, 0, 0, 0);
	return day.toISOString();
};

const namesOf = (some: readonly { name: string }[]) => some.map(({ name }) => name).join(", ");

function columnsOf(to: (path: string) => string): Column<AccessReview>[] {
	return [
		{
			title: "Name",
			cell: (row) => (
				<Person
					user={{ ...row, email: row.email ?? "account@.invalid" }}
					href={to(`${row.is_service_account ? "service_accounts" : "members"}/${row.uuid}`)}
				>
					{row.is_service_account && <Badge>Service account</Badge>}
				</Person>
			),
		},
		{
			title: "Level and roles",
			cell: ({ level, roles }) => (
				<>
					<Badge>{levelName(level)}</Badge>
					{roles.length > 0 && <small class="below">{namesOf(roles)}</small>}
				</>
			),
		},
		{
			title: "Two-factor",
			cell: ({ is_2fa_enabled, is_service_account }) =>
				is_service_account ? "–" : is_2fa_enabled ? <Badge mood="good">On</Badge> : "Off",
		},
		{
			title: "Last sign-in",
			cell: ({ last_sign_in_at }) => <Time value={last_sign_in_at} isRelative />,
		},
		{
			title: "Last active",
			cell: ({ last_active_at }) => <Time value={last_active_at} isRelative />,
		},
		{
			title: "Keys and apps",
			cell: ({ keys, apps }) => (
				<>
					{keys.map(({ label }) => label).join(", ") || "–"}
					{apps.length > 0 && <small class="below">{namesOf(apps)}</small>}
				</>
			),
		},
	];
}

/** Who can do what, and who still does (docs/audit.md#what-your-auditor-will-ask). */
export default function Review() {
	const { at, organization, to } = useOrganization();
	const [{ inactive }] = useQuery();
	const filters = inactive ? { inactive_since: daysAgo(Number(inactive)) } : {};
	const list = useList(
		(page, signal) => api.members.review({ ...at, ...page, ...filters }, { signal }),
		[organization.id, inactive],
	);
	return (
		<People
			current="members/review"
			lead="Everybody who has access, with when they last used it. Remove who no longer needs it."
		>
			<Filters>
				<Filter name="inactive" label="Activity" options={INACTIVE} />
				<Download
					path={`/api/organizations/${organization.id}/members/access_review`}
					filters={filters}
					name="access-review"
					count={list.data?.count}
					words={["member or service account", "members and service accounts"]}
				/>
			</Filters>
			<Table
				list={list}
				label="Access review"
				columns={columnsOf(to)}
				notFound={inactive && "Everybody was active in this time."}
			/>
		</People>
	);
}
