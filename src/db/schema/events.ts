import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * The events of projects: the built-in source of exports. No foreign keys, because they would make
 * deleting a project slow.
 */
export const events = sqliteTable(
	"events",
	{
		team_id: integer().notNull(),
		uuid: text().notNull(),
		event: text().notNull(),
		distinct_id: text().notNull(),
		person_id: text(),
		/** JSON. */
		properties: text().notNull(),
		person_properties: text(),
		elements_chain: text().notNull().default(""),
		/** When the event happened. */
		timestamp: text().notNull(),
		created_at: text().notNull(),
		/** When this service received it. */
		_inserted_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.team_id, t.uuid] }),
		index("events_inserted").on(t.team_id, t._inserted_at, t.uuid),
		index("events_happened").on(t.team_id, t.timestamp, t.uuid),
	],
);

/** The properties of persons, with one row for each distinct id. */
export const persons = sqliteTable(
	"persons",
	{
		team_id: integer().notNull(),
		distinct_id: text().notNull(),
		person_id: text().notNull(),
		/** JSON. */
		properties: text().notNull(),
		/** How often the row was written. */
		person_version: integer().notNull().default(1),
		created_at: text().notNull(),
		/** When it was last written. */
		_inserted_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.team_id, t.distinct_id] }),
		index("persons_inserted").on(t.team_id, t._inserted_at, t.distinct_id),
		index("persons_made").on(t.team_id, t.created_at, t.distinct_id),
	],
);
