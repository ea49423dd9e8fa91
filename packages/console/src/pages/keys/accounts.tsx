import { useState } from "preact/hooks";
import type { ServiceAccount } from "tenantry-client";
import { filtered, has, useList, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, levelName, nameOf, Time } from "../../ui/values.tsx";
import { AccountForm } from "./account_form.tsx";

const columnsOf = (to: (path: string) => string): Column<ServiceAccount>[] => [
	{
		title: "Name",
		cell: ({ id, name }) => (
			<a href={to(`service_accounts/${id}`)}>
				<strong>{name}</strong>
			</a>
		),
	},
	{ title: "Level", cell: ({ level }) => <Badge>{levelName(level)}</Badge> },
	{
		title: "Last used",
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
	{
		title: "Created",
		cell: ({ created_at, created_by }) => (
			<div>
				<Time value={created_at} />
				<small class="below">by {nameOf(created_by)}</small>
			</div>
		),
	},
];

function New({ onClose }: { onClose: () => void }) {
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	return (
		<Dialog title="New service account" onClose={onClose}>
			<AccountForm
				action="Create account"
				onCancel={onClose}
				onSubmit={async (settings) => {
					const { id, name } = await api.serviceAccounts.create(at, settings);
					navigate(to(`service_accounts/${id}`));
					say(`“${name}” is created. Next, create a key.`);
				}}
			/>
		</Dialog>
	);
}

const WHAT =
	"Create service accounts for programs, such as deployments, scripts and dashboards. They belong to the organization, and stay when the person who created them leaves.";

function List() {
	const { at, organization, to } = useOrganization();
	const [{ search = "" }] = useQuery();
	const [isMaking, setMaking] = useState(false);
	const list = useList(
		(page, signal) =>
			filtered(
				(range) => api.serviceAccounts.list({ ...at, ...range }, { signal }),
				page,
				search ? ({ name }) => has(name, search) : undefined,
			),
		[organization.id, search],
	);
	return (
		<PageView
			title="Service accounts"
			lead={WHAT}
			actions={
				<button type="button" onClick={() => setMaking(true)}>
					New service account
				</button>
			}
		>
			<Filters>
				<Search label="Search service accounts" />
			</Filters>
			<Table
				list={list}
				label="Service accounts"
				columns={columnsOf(to)}
				notFound={search && `No service account has “${search}” in its name.`}
				empty={
					<Empty title="No service accounts yet">
						Create one for each program that uses the API, then give it a key.
					</Empty>
				}
			/>
			{isMaking && <New onClose={() => setMaking(false)} />}
		</PageView>
	);
}

/** Replaces the pages of service accounts if the user is only a member. */
export const OnlyAdmins = () => (
	<PageView title="Service accounts" lead={WHAT}>
		<Empty title="Only admins can see this">
			If your program needs a service account, ask an admin of your organization.
		</Empty>
	</PageView>
);

export default function Accounts() {
	const { isAdmin } = useOrganization();
	return isAdmin ? <List /> : <OnlyAdmins />;
}
