import { sql } from "drizzle-orm";
import {
	customType,
	index,
	integer,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { HOUR_MS } from "../../lib/time.ts";
import { moment } from "./columns.ts";

/** Formats the 32 hexadecimal digits of a UUID. */
export const formatUuid = (hex: string) =>
	`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`.toLowerCase();

/** See src/db/arrival_id.ts. A decimal text in TypeScript, because a number would lose digits. */
const arrivalId = customType<{ data: string; driverData: string }>({ dataType: () => "integer" });

/** A UUID as 16 bytes, which an index holds twice as densely as text. */
const uuidBytes = customType<{ data: string; driverData: ArrayBufferLike | number[] }>({
	dataType: () => "blob",
	toDriver: (uuid) => Uint8Array.fromHex(uuid.replaceAll("-", "")).buffer,
	fromDriver: (bytes) => formatUuid(Buffer.from(bytes).toString("hex")),
});

/**
 * SQL for whether an event happened long before or after it arrived. Only these events are in an
 * index of event times. All others are found by their arrival
 * (docs/internals/decisions/0008-events-in-order-of-arrival.md).
 */
export const FAR_MS = HOUR_MS;
export const IS_FAR = `abs(timestamp - _inserted_at) > ${FAR_MS}`;

/** The events of projects. A foreign key would make deleting a project slow. */
export const events = sqliteTable(
	"events",
	{
		id: arrivalId().primaryKey(),
		team_id: integer().notNull(),
		uuid: uuidBytes().notNull(),
		event: text().notNull(),
		distinct_id: text().notNull(),
		/** Null if no id of the person had been sent; readers derive it. */
		person_id: text(),
		/** JSON. */
		properties: text().notNull(),
		person_properties: text(),
		elements_chain: text().notNull().default(""),
		/** When the event happened. */
		timestamp: moment().notNull(),
		/** When this service received it. */
		_inserted_at: moment().notNull(),
	},
	(t) => [
		uniqueIndex("events_uuid").on(t.team_id, t.uuid),
		index("events_far").on(t.team_id, t.timestamp, t.uuid).where(sql.raw(IS_FAR)),
	],
);

/** The properties of persons, with one row for each distinct id. */
export const persons = sqliteTable(
	"persons",
	{
		/** Changes whenever the row is written, as if the person arrived again. */
		id: arrivalId().primaryKey(),
		team_id: integer().notNull(),
		distinct_id: text().notNull(),
		/** Null if none was sent; readers derive it. */
		person_id: text(),
		/** JSON. */
		properties: text().notNull(),
		/** How often the row was written. */
		person_version: integer().notNull().default(1),
		created_at: moment().notNull(),
		/** When it was last written. */
		_inserted_at: moment().notNull(),
	},
	(t) => [uniqueIndex("persons_distinct_id").on(t.team_id, t.distinct_id)],
);
