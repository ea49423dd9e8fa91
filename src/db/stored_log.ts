/**
 * Logs of exports and of plugin configs. A row of a log has the entries of a job or of a step of a
 * run, so that they cost one written row, and another when it is deleted
 * (docs/internals/decisions/0005-counters-by-triggers.md).
 */
import { getTableColumns, is, SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { bytesIn } from "../lib/bytes.ts";
import { grouped } from "../lib/groups.ts";
import { DAY_MS, MINUTE_MS } from "../lib/time.ts";
import type { Database } from "./client.ts";
import type { StoredEntry } from "./schema/log.ts";

type Columns = Record<"position" | "total" | "id" | "entries", SQLiteColumn>;

/** A table of logs. */
export type Logs = {
	table: SQLiteTable & Columns;
	/** The owner of a log. The primary key consists of it and the position. */
	owner: SQLiteColumn;
	/** The run that the entries of a row are about. */
	run?: SQLiteColumn;
};

export type NewEntry = {
	/** RFC 3339; now by default. */
	timestamp?: string;
	level: string;
	message: string;
	source?: string;
};

/** D1 limits values to 2,000,000 bytes. A page also unpacks whole rows, so they are smaller. */
const MAX_ROW_BYTES = 500_000;

const stored = ({ timestamp, level, message, source }: NewEntry): StoredEntry => {
	const at = timestamp ? Date.parse(timestamp) : Date.now();
	return source === undefined ? [at, level, message] : [at, level, message, source];
};

/** Returns entries as the content of a row. They are given oldest first. */
const packed = (entries: NewEntry[]) => {
	const list = entries.map(stored).reverse();
	return { count: list.length, at: Math.max(...list.map(([at]) => at)), entries: list };
};

export type Owner = string | number | SQL;

/** Entries to add to a log, oldest first. */
type Addition = { owner: Owner; run?: string | null; id?: string; entries: NewEntry[] };

/** SQL for a column of the newest row of a log; null if it has none. */
export const newest = ({ table, owner }: Logs, column: SQLiteColumn, of: Owner) => {
	const [name, key, position] = [column, owner, table.position].map(
		(one) => sql`last.${sql.identifier(one.name)}`,
	);
	return sql`(select ${name} from ${table} as last where ${key} = ${of} order by ${position} desc limit 1)`;
};

/** Returns a statement that adds one row to each log that `from` names. */
function insertRows(
	db: Database,
	logs: Logs,
	row: Record<"owner" | "run" | "id" | "at" | "count" | "entries", SQL>,
	from: SQL,
) {
	const { table, owner, run } = logs;
	const values = new Map([
		[owner.name, row.owner],
		[
			table.position.name,
			sql`max(${row.at}, coalesce(${newest(logs, table.position, row.owner)}, 0) + 1)`,
		],
		[table.total.name, sql`coalesce(${newest(logs, table.total, row.owner)}, 0) + ${row.count}`],
		[table.id.name, row.id],
		[table.entries.name, row.entries],
		...(run ? [[run.name, row.run] as const] : []),
	]);
	const columns = Object.values(getTableColumns(table)).map(({ name }) => values.get(name));
	return db.insert(table).select(sql`select ${sql.join(columns, sql`, `)} ${from}`);
}

/** Returns the statement that adds entries to a log, as one row, if `condition` is true. */
export function append(
	db: Database,
	logs: Logs,
	{ owner, run = null, id = v7(), entries }: Addition,
	condition: SQL,
) {
	const { count, at, entries: list } = packed(entries);
	const row = {
		owner: is(owner, SQL) ? owner : sql`${owner}`,
		run: sql`${run}`,
		id: sql`${id}`,
		at: sql`${at}`,
		count: sql`${count}`,
		entries: sql`${JSON.stringify(list)}`,
	};
	return insertRows(db, logs, row, sql`where ${condition}`);
}

/** Like `append`, for any number of entries: returns a statement for each row that they need. */
export const appendAll = (db: Database, logs: Logs, { id = v7(), ...addition }: Addition) =>
	grouped(addition.entries, MAX_ROW_BYTES, (entry) => bytesIn(stored(entry)) + 1).map((entries) =>
		append(db, logs, { ...addition, id, entries }, sql`true`),
	);

/**
 * Returns the statement that adds an entry to each of several logs for which `condition` is true.
 * The condition refers to values of an addition as `value ->> 'name'`.
 */
export function appendEach(
	db: Database,
	logs: Logs,
	additions: ({ owner: string | number; entry: NewEntry } & Record<string, unknown>)[],
	condition: SQL,
) {
	const rows = additions.map(({ entry, ...addition }) => ({
		id: v7(),
		...addition,
		...packed([entry]),
	}));
	const row = {
		owner: sql`value ->> 'owner'`,
		run: sql`null`,
		id: sql`value ->> 'id'`,
		at: sql`value ->> 'at'`,
		count: sql`value ->> 'count'`,
		entries: sql`value ->> 'entries'`,
	};
	return insertRows(db, logs, row, sql`from json_each(${JSON.stringify(rows)}) where ${condition}`);
}

/** How long entries are kept. */
const RETENTION_MS = 7 * DAY_MS;

/** How many rows a tick deletes from a table of logs. */
const MAX_DELETED = 10_000;

/** How many logs a tick looks at. */
const LOGS_PER_TICK = 1_000;

/**
 * Returns a statement that deletes rows whose entries are older than seven days. An index of
 * moments would cost a row with each write, so it looks at the oldest row of each log: each minute
 * at those of the next `LOGS_PER_TICK` owners.
 */
export function deleteExpired(
	db: Database,
	{ table, owner }: Logs,
	owners: SQLiteTable & { id: SQLiteColumn },
	at: number,
) {
	const key = sql`old.${sql.identifier(owner.name)}`;
	const first = sql`((${Math.floor(at / MINUTE_MS)} % (1 + (select max(rowid) from ${owners}) / ${LOGS_PER_TICK})) * ${LOGS_PER_TICK})`;
	return db.delete(table).where(
		sql`(${owner}, ${table.position}) in (
			select ${key}, old.position from ${owners} cross join ${table} as old on ${key} = ${owners.id}
			where ${owners}.rowid >= ${first} and ${owners}.rowid < ${first} + ${LOGS_PER_TICK}
				and old.position < ${at - RETENTION_MS} limit ${MAX_DELETED})`,
	);
}
