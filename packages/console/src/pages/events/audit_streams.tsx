import type { AuditStream } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count, Time } from "../../ui/values.tsx";
import { AdminsOnly } from "./admins_only.tsx";
import { placeOf, STATES, StateBadge, stateDetail, stateOf } from "./stream.tsx";

const columnsOf = (organization: string, to: (path: string) => string): Column<AuditStream>[] => [
	{
		title: "Name",
		value: ({ name }) => name,
		cell: (stream) => (
			<>
				<a href={to(`audit_streams/${stream.id}`)}>{stream.name}</a>
				<small class="below event-type">{placeOf(stream, organization)}</small>
			</>
		),
	},
	{
		title: "State",
		value: (stream) => STATES[stateOf(stream)][0],
		cell: (stream) => (
			<div>
				<StateBadge stream={stream} />
				<small class="below">{stateDetail(stream)}</small>
			</div>
		),
	},
	{
		title: "Last file",
		value: ({ last_delivered_at }) => last_delivered_at,
		cell: ({ sequence, last_delivered_at }) =>
			sequence > 0 ? (
				<span>
					File <Count value={sequence} />, <Time value={last_delivered_at} isRelative />
				</span>
			) : (
				"–"
			),
	},
	{
		title: "Entries",
		align: "end",
		value: ({ delivered_events }) => delivered_events,
		cell: ({ delivered_events }) => <Count value={delivered_events} />,
	},
];

const OPTIONS = [
	["", "Any state"],
	...Object.entries(STATES).map(([value, [words]]) => [value, words] as const),
] as const;

function List() {
	const { at, organization, to } = useOrganization();
	const [{ state = "" }] = useQuery();
	const columns = columnsOf(organization.id, to);
	const list = useSorted(
		(range, options) => api.auditStreams.list({ ...at, ...range }, options),
		[organization.id, state],
		{
			columns,
			name: "audit-streams",
			matches: state ? (stream) => stateOf(stream) === state : undefined,
		},
	);
	const add = <LinkButton href={to("audit_streams/new")}>Add audit stream</LinkButton>;
	return (
		<PageView
			title="Audit streams"
			actions={add}
			lead="An audit stream delivers the activity log every hour: to a bucket, as tamper-evident files, or to the server of a security team."
		>
			<Filters>
				<Filter name="state" label="State" options={OPTIONS} />
			</Filters>
			<Table
				list={list}
				label="Audit streams"
				columns={columns}
				notFound={state && "No audit stream has this state."}
				empty={
					<Empty title="No audit streams yet">
						<p>Add one to keep the activity log for longer than 365 days, or to watch it.</p>
						{add}
					</Empty>
				}
			/>
		</PageView>
	);
}

export default function AuditStreams() {
	const { isAdmin } = useOrganization();
	return isAdmin ? (
		<List />
	) : (
		<AdminsOnly
			title="Audit streams"
			text="Audit streams contain events of all projects, including private ones."
		/>
	);
}
