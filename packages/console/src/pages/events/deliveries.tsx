import type { Webhook, WebhookDelivery } from "tenantry-client";
import type { List } from "../../load.ts";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { Empty, say, warn } from "../../ui/feedback.tsx";
import { Filter, Filters } from "../../ui/filters.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { TIME_WITH_SECONDS } from "../../ui/zone.ts";
import { durationOf, Outcome } from "./health.tsx";
import { GROUPS, wordsOfType } from "./kinds.ts";

/** Returns why an event was sent, or the number of the attempt. */
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

/** Returns the filter options: the event types that the webhook subscribes to. */
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

const columnsOf = (replay: (row: WebhookDelivery) => Promise<void>): Column<WebhookDelivery>[] => [
	{
		title: "Event",
		cell: ({ type, error }) => (
			<>
				{wordsOf(type)} <small class="event-type">{type}</small>
				{error && <small class="below said">{error}</small>}
			</>
		),
	},
	{ title: "Response", cell: (row) => <Outcome delivery={row} /> },
	{ title: "Cause", cell: (row) => <span class="nowrap">{causeOf(row)}</span> },
	{ title: "Duration", align: "end", cell: durationOf },
	{ title: "Sent", cell: ({ created_at }) => <Time value={created_at} isRelative /> },
	buttons(
		(row) =>
			row.reason !== "test" && (
				<SmallButton
					aria-label={`Replay ${wordsOf(row.type)}, sent ${TIME_WITH_SECONDS.format(new Date(row.created_at))}`}
					onPress={() => replay(row)}
				>
					Replay
				</SmallButton>
			),
		"Replay",
	),
];

export function Deliveries({
	webhook,
	list,
	onReplayed,
}: {
	webhook: Webhook;
	list: List<WebhookDelivery>;
	onReplayed: () => void;
}) {
	const { at } = useOrganization();
	const [{ status = "", type = "" }] = useQuery();
	const columns = columnsOf(async (row) => {
		const { status, response_status, error } = await api.webhooks.replayDelivery({
			...at,
			id: webhook.id,
			delivery: row.id,
		});
		if (status === "delivered")
			say(`The event was delivered. The endpoint responded with ${response_status}.`);
		else warn(`The event wasn’t delivered. ${error}`);
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
				notFound={(status || type) && "None of the last 100 attempts matches the filters."}
				empty={
					<Empty title="No deliveries yet">
						The next event is delivered immediately. To try the endpoint now, send a test.
					</Empty>
				}
			/>
		</>
	);
}
