import type { Webhook } from "tenantry-client";
import { has, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { AdminsOnly } from "./admins_only.tsx";
import { wordsOfFormat } from "./formats.tsx";
import {
	durationOf,
	HEALTH,
	HealthBadge,
	healthDetail,
	healthOf,
	Outcome,
	Types,
} from "./health.tsx";

const columnsOf = (to: (path: string) => string): Column<Webhook>[] => [
	{
		title: "Endpoint",
		value: ({ url }) => url,
		cell: ({ id, format, url, description }) => (
			<>
				<a href={to(`webhooks/${id}`)}>{url}</a>
				{format !== "standard" && <small class="below">{wordsOfFormat(format)}</small>}
				{description && <small class="below">{description}</small>}
			</>
		),
	},
	{
		title: "Health",
		value: (webhook) => HEALTH[healthOf(webhook)][0],
		cell: (webhook) => (
			<div>
				<HealthBadge webhook={webhook} />
				<small class="below">{healthDetail(webhook)}</small>
			</div>
		),
	},
	{
		title: "Events",
		value: ({ types }) => types.join(" "),
		cell: ({ types }) => <Types types={types} />,
	},
	{
		title: "Last delivery",
		value: ({ last_delivery }) => last_delivery?.created_at ?? null,
		cell: ({ last_delivery: last }) =>
			last ? (
				<div>
					<Outcome delivery={last} /> <Time value={last.created_at} isRelative />
					<small class="below">{durationOf(last)}</small>
				</div>
			) : (
				"–"
			),
	},
];

const STATES = [
	["", "Any health"],
	...Object.entries(HEALTH).map(([value, [words]]) => [value, words] as const),
] as const;

function List() {
	const { at, organization, to } = useOrganization();
	const [{ search = "", health = "" }] = useQuery();
	const isFiltered = search !== "" || health !== "";
	const columns = columnsOf(to);
	const list = useSorted(
		(range, options) => api.webhooks.list({ ...at, ...range }, options),
		[organization.id, search, health],
		{
			columns,
			name: "webhooks",
			matches: isFiltered
				? (webhook) =>
						has(`${webhook.url} ${webhook.description}`, search) &&
						(health === "" || healthOf(webhook) === health)
				: undefined,
		},
	);
	const add = <LinkButton href={to("webhooks/new")}>Add webhook</LinkButton>;
	return (
		<PageView
			title="Webhooks"
			actions={add}
			lead="A webhook sends the events of this organization to your endpoint, Slack, Microsoft Teams or PagerDuty: in order, and with retries."
		>
			<Filters>
				<Search label="Search webhooks" />
				<Filter name="health" label="Health" options={STATES} />
			</Filters>
			<Table
				list={list}
				label="Webhooks"
				columns={columns}
				notFound={isFiltered && "No webhook matches the filters."}
				empty={
					<Empty title="No webhooks yet">
						<p>Choose where to send events, and which.</p>
						{add}
					</Empty>
				}
			/>
		</PageView>
	);
}

export default function Webhooks() {
	const { isAdmin } = useOrganization();
	return isAdmin ? (
		<List />
	) : (
		<AdminsOnly
			title="Webhooks"
			text="Webhooks receive events of all projects, including private ones."
		/>
	);
}
