import type { Received, Webhook, WebhookDelivery } from "tenantry-client";
import type { List } from "../../load.ts";
import { useQuery } from "../../load.ts";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, say, warn } from "../../ui/feedback.tsx";
import { Filter, Filters } from "../../ui/filters.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { durationOf, Outcome } from "./health.tsx";
import { GROUPS, wordsOfType } from "./kinds.ts";

type Row = Received<WebhookDelivery, "webhooks">;

/** Why an event was sent, and how often it was tried. */
function causeOf({ reason, attempt }: WebhookDelivery) {
	if (reason === "test") return "Test";
	return reason === "replay" ? "Replay" : `Attempt ${attempt}`;
}

const wordsOf = (type: string) => (type === "webhook.test" ? "Test" : wordsOfType(type));

const STATUSES = [
	["", "Any result"],
	["delivered", "Delivered"],
	["failed", "Failed"],
] as const;

/** The types that a webhook can have got. */
function typesOf({ types }: Webhook) {
	const known = GROUPS.filter(
		({ all, types: ofGroup }) =>
			types.length === 0 || types.includes(all) || ofGroup.some((type) => types.includes(type)),
	).flatMap(({ all, types: ofGroup }) =>
		ofGroup.filter((type) => types.length === 0 || types.includes(all) || types.includes(type)),
	);
	return [
		["", "Any event"],
		["webhook.test", "Test"],
		...known.map((type) => [type, wordsOfType(type)] as const),
	] as const;
}

/** Attempts to deliver one event may be in the same minute. */
const SENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const columnsOf = (replay: (row: Row) => Promise<void>): Column<Row>[] => [
	{
		title: "Event",
		cell: ({ type, error }) => (
			<>
				{wordsOf(type)} <small class="event-type">{type}</small>
				{error && <small class="below said">{error}</small>}
			</>
		),
	},
	{ title: "Answer", cell: (row) => <Outcome delivery={row} /> },
	{ title: "Cause", cell: (row) => <span class="nowrap">{causeOf(row)}</span> },
	{ title: "Duration", align: "end", cell: durationOf },
	{ title: "Sent", cell: ({ created_at }) => <Time value={created_at} isRelative /> },
	{
		title: "Replay",
		isHidden: true,
		align: "end",
		cell: (row) =>
			row.reason !== "test" && (
				<Button
					class="secondary outline small"
					aria-label={`Replay ${wordsOf(row.type)}, sent ${SENT.format(new Date(row.created_at))}`}
					onPress={() => replay(row)}
				>
					Replay
				</Button>
			),
	},
];

/** The last attempts to deliver events to a webhook. */
export function Deliveries({
	webhook,
	list,
	onReplayed,
}: {
	webhook: Received<Webhook, "webhooks">;
	list: List<Row>;
	onReplayed: () => void;
}) {
	const [{ status = "", type = "" }] = useQuery();
	const columns = columnsOf(async (row) => {
		const { status, response_status, error } = await api.webhooks.replayDelivery(row);
		if (status === "delivered")
			say(`The endpoint took the event again: it answered ${response_status}.`);
		else warn(`The endpoint didn’t take the event. ${error}`);
		onReplayed();
	});
	return (
		<>
			<Filters>
				<Filter name="status" label="Result" options={STATUSES} />
				<Filter name="type" label="Event" options={typesOf(webhook)} />
			</Filters>
			<Table
				list={list}
				label="Deliveries"
				columns={columns}
				id={({ id }) => id}
				empty={
					status || type ? (
						<Empty title="No such delivery">
							<p>None of the last 100 attempts matches the filters.</p>
						</Empty>
					) : (
						<Empty title="Nothing delivered yet">
							<p>The next event of this organization is sent at once. Or send a test now.</p>
						</Empty>
					)
				}
			/>
		</>
	);
}
