import { useState } from "preact/hooks";
import type { ServiceAccount } from "tenantry-client";
import { has, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, levelName, nameOf, Time } from "../../ui/values.tsx";
import { AccountForm } from "./account_form.tsx";
import { OnlyAdmins, WHAT } from "./only_admins.tsx";

const columnsOf = (to: (path: string) => string): Column<ServiceAccount>[] => [
	{
		title: "Name",
		value: ({ name }) => name,
		cell: ({ id, name }) => (
			<a href={to(`service_accounts/${id}`)}>
				<strong>{name}</strong>
			</a>
		),
	},
	{
		title: "Level",
		value: ({ level }) => levelName(level),
		cell: ({ level }) => <Badge>{levelName(level)}</Badge>,
	},
	{
		title: "Last used",
		value: ({ last_used_at }) => last_used_at,
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
	{
		title: "Created",
		value: ({ created_at }) => created_at,
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

function List() {
	const { at, organization, to } = useOrganization();
	const [{ search = "" }] = useQuery();
	const [isMaking, setMaking] = useState(false);
	const columns = columnsOf(to);
	const list = useSorted(
		(range, options) => api.serviceAccounts.list({ ...at, ...range }, options),
		[organization.id, search],
		{
			columns,
			name: "service-accounts",
			matches: search ? ({ name }) => has(name, search) : undefined,
		},
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
				columns={columns}
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

export default function Accounts() {
	const { isAdmin } = useOrganization();
	return isAdmin ? <List /> : <OnlyAdmins />;
}
