/** Writes an organization to a file. */
import { existsSync, renameSync, rmSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { calculateJwkThumbprint, type JWK } from "jose";
import { now } from "../../src/lib/time.ts";
import { type Database, TakeoutError } from "./database.ts";
import {
	create,
	createTable,
	digestOf,
	FORMAT,
	PRODUCT,
	SECRET_COLUMNS,
	writeManifest,
	writer,
} from "./file.ts";
import { takeOut } from "./secrets.ts";
import {
	LEFT_OUT,
	ofOrganization,
	ofTie,
	TABLES,
	type Table,
	USER_COLUMNS,
	type Way,
} from "./tables.ts";

/** SQL for the UUID of a user: for those who stand in for a person, that of the person. */
const uuidOf = (id: string) =>
	`coalesce((select w.uuid from moved_users as w where w.user_id = ${id}), (select u.uuid from users as u where u.id = ${id}))`;

/** SQL for the value of a column in the file. */
const WRITTEN: Record<Way, (column: string) => string> = {
	plain: (column) => column,
	counted: (column) => column,
	position: (column) => column,
	user: uuidOf,
	users: (column) =>
		`(select json_group_array(${uuidOf("list.value")}) from json_each(${column}) as list)`,
	export: (column) => `(select e.uuid from batch_exports as e where e.id = ${column})`,
	blob: (column) => `hex(${column})`,
};

/** Pages have about this size. A row can have 2 MB. */
const PAGE_BYTES = 1_000_000;
const FIRST_PAGE_ROWS = 8;
const MAX_PAGE_ROWS = 5000;

/** How many ties of a table are read in one call: most objects have few rows. */
const TIES = 40;

/** SQL for the next entries of an organization: two indexes, merged (src/db/entries.ts). */
const nextEntries = (limit: number) => {
	const of = (whose: string) =>
		`select * from (select position from activity_log where organization_id = ?1 and ${whose} and position > coalesce(?2 ->> 0, 0) order by position limit ${limit})`;
	return `position in (${of("not is_system")} union all ${of("is_system")})`;
};

/** Returns the statement that reads the rows of a table after a cursor, the JSON of the last key. */
function pageOf(
	table: Table,
	id: number,
	{ tie, cursor, limit }: { tie: string | number | null; cursor: string | null; limit: number },
) {
	const row = table.columns.map(({ name, way }) => WRITTEN[way](`t."${name}"`)).join(", ");
	const key = table.key.map((name) => `t."${name}"`).join(", ");
	const { where, values } =
		table.name === "activity_log"
			? { where: nextEntries(limit), values: [cursor] }
			: tie === null
				? { where: ofOrganization(table), values: [null] }
				: ofTie(table, tie);
	const bound = [id, ...values];
	const at = `?${bound.length + 1}`;
	const after =
		cursor === null || table.name === "activity_log"
			? `and ${at} is ${at}`
			: `and (${key}) > (${table.key.map((_, i) => `${at} ->> ${i}`).join(", ")})`;
	return {
		sql: `select json_array(${row}) as row, json_array(${key}) as key from "${table.name}" as t
			where ?1 is ?1 and ${where} ${after} order by ${key} limit ${limit}`,
		values: [...bound, cursor],
	};
}

type Page = { rows: string[]; last: string | null };

const toPage = (rows: Record<string, unknown>[]): Page => ({
	rows: rows.map(({ row }) => String(row)),
	last: rows.length > 0 ? String(rows.at(-1)?.key) : null,
});

/** Reads all rows of a table. */
async function* readPages(database: Database, table: Table, id: number) {
	const { parent } = table.tie;
	const of = TABLES.find(({ name }) => name === parent?.table);
	const ties: (string | number | null)[] =
		parent && of
			? (
					await database.rows(
						`select "${parent.key}" as tie from "${of.name}" where ${ofOrganization(of)}`,
						id,
					)
				).map(({ tie }) => (typeof tie === "number" ? tie : String(tie)))
			: [null];
	let limit = FIRST_PAGE_ROWS;
	const adapt = (rows: string[]) => {
		const bytes = rows.reduce((sum, row) => sum + row.length, 0) / Math.max(1, rows.length);
		limit = Math.max(
			1,
			Math.min(MAX_PAGE_ROWS, limit * 4, Math.floor(PAGE_BYTES / Math.max(1, bytes))),
		);
	};
	for (let i = 0; i < ties.length; i += TIES) {
		const group = ties.slice(i, i + TIES);
		const first = Math.min(limit, Math.ceil(MAX_PAGE_ROWS / group.length));
		const pages = await database.batch(
			...group.map((tie) => pageOf(table, id, { tie, cursor: null, limit: first })),
		);
		for (const [at, tie] of group.entries()) {
			let page = toPage(pages[at] ?? []);
			let expected = first;
			while (page.rows.length > 0) {
				yield page.rows;
				if (page.rows.length < expected) break;
				adapt(page.rows);
				expected = limit;
				const next = pageOf(table, id, { tie, cursor: page.last, limit });
				page = toPage((await database.batch(next))[0] ?? []);
			}
		}
	}
}

/** Numbers the log's entries, and replaces the positions in it by these numbers. */
function numberEntries(file: DatabaseSync) {
	file.exec(`create temp table numbers as select row_number() over (order by position) as number, position from activity_log;
		create unique index temp.numbers_position on numbers (position)`);
	for (const { name, columns } of TABLES)
		for (const column of columns)
			if (column.way === "position")
				file.exec(`update "${name}" set "${column.name}" = coalesce(
					(select number from temp.numbers where position <= "${name}"."${column.name}" order by position desc limit 1), 0)
					where "${column.name}" is not null`);
	file.exec("drop table temp.numbers");
}

/** How many users are read in one call. */
const USERS = 1000;

/** Adds the users whom the other tables mention. */
async function writeUsers(database: Database, file: DatabaseSync) {
	const mentions = TABLES.flatMap(({ name, columns }) =>
		columns.flatMap((column) =>
			column.way === "user"
				? [`select "${column.name}" as uuid from "${name}"`]
				: column.way === "users"
					? [`select value from "${name}", json_each("${column.name}")`]
					: [],
		),
	);
	const uuids = file
		.prepare(`select uuid from (${mentions.join(" union ")}) where uuid is not null`)
		.all()
		.map(({ uuid }) => String(uuid));
	createTable(file, "users", USER_COLUMNS);
	const write = writer(file, "users", USER_COLUMNS);
	const row = USER_COLUMNS.map((name) =>
		name === "uuid" ? "list.value" : name === "email" ? "coalesce(w.email, u.email)" : `u.${name}`,
	);
	for (let i = 0; i < uuids.length; i += USERS) {
		const list = JSON.stringify(uuids.slice(i, i + USERS));
		const rows = await database.rows(
			`select json_array(${row.join(", ")}) as row from json_each(?1) as list
				left join moved_users as w on w.organization_id = (select id from organizations where uuid = ?2) and w.uuid = list.value
				join users as u on u.id = coalesce(w.user_id, (select o.id from users as o where o.uuid = list.value))`,
			list,
			String(file.prepare("select uuid from organizations").get()?.uuid),
		);
		write(rows.map(({ row }) => String(row)));
	}
}

/** How long to wait until what was running has ended, and between two looks. */
const SETTLE_MS = 120_000;
const SETTLE_STEP_MS = 500;

/** SQL for the number of leases on the organization's work. */
const LEASES = `select
	(select count(*) from batch_export_runs where finished_at is null and lease_expires_at is not null
		and batch_export_id in (select id from batch_exports where organization_id = ?1))
	+ (select count(*) from webhooks where organization_id = ?1 and lease_expires_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
	+ (select count(*) from audit_streams where organization_id = ?1 and lease_expires_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
	+ (select count(*) from plugin_jobs where organization_id = ?1 and lease_expires_at is not null) as n`;

/** Stops writes to the organization, and waits until what is running has ended. */
async function hold(database: Database, id: number) {
	await database.rows(
		"update organizations set moving = json_object('since', ?2) where id = ?1 and moving is null",
		...[id, now()],
	);
	const deadline = Date.now() + SETTLE_MS;
	while ((await database.count(LEASES, id)) > 0) {
		if (Date.now() > deadline)
			throw new TakeoutError(
				"Something is still running for the organization. Run the command again later.",
			);
		await sleep(SETTLE_STEP_MS);
	}
}

const LET_GO =
	"update organizations set moving = null where id = ?1 and moving ->> 'since' is not null";

export const lastMigration = async (database: Database) =>
	String((await database.rows("select max(name) as name from d1_migrations"))[0]?.name ?? "");

/** Counts the rows that the file doesn't have. */
async function countLeftOut(database: Database, id: number) {
	const rows = await database.count(
		`select count(*) as n from plugin_storage where plugin_config_id in (select id from plugin_configs where organization_id = ?1)`,
		id,
	);
	return Object.entries(LEFT_OUT).map(([table, because]) => ({
		table,
		rows: table === "plugin_storage" ? rows : 0,
		because,
	}));
}

async function writeTables(database: Database, file: DatabaseSync, id: number) {
	for (const table of TABLES) {
		const columns = table.columns.map(({ name }) => name);
		createTable(file, table.name, columns);
		const write = writer(file, table.name, columns);
		for await (const rows of readPages(database, table, id)) write(rows);
	}
	numberEntries(file);
	await writeUsers(database, file);
}

type Options = {
	/** The organization's UUID. */
	id: string;
	path: string;
	/** The public key that secrets are encrypted for. */
	jwk?: JWK | undefined;
	/** Whether the organization can't be changed afterwards, because it moves. */
	keepsHold: boolean;
};

/**
 * Writes an organization to a file. Until it is written, the organization can only be read.
 * @throws TakeoutError if it doesn't exist, is being imported, or the file exists
 */
export async function exportOrganization(
	database: Database,
	{ id: uuid, path, jwk, keepsHold }: Options,
) {
	if (existsSync(path)) throw new TakeoutError(`${path} already exists.`);
	const [organization] = await database.rows(
		"select id, name, moving, moving ->> 'file' as source from organizations where uuid = ?1",
		uuid.toLowerCase(),
	);
	if (!organization) throw new TakeoutError("There is no organization with this id.");
	if (organization.source !== null)
		throw new TakeoutError(
			"The organization is being imported. Finish that first: run the import again.",
		);
	const id = Number(organization.id);
	const wasHeld = organization.moving !== null;
	const part = `${path}.part`;
	rmSync(part, { force: true });
	const file = create(part);
	try {
		await hold(database, id);
		await writeTables(database, file, id);
		createTable(file, "secrets", SECRET_COLUMNS);
		const secrets = await takeOut(database, file, jwk);
		const written = [
			...TABLES.map(({ name, columns }) => ({ name, columns: columns.map(({ name }) => name) })),
			{ name: "users", columns: USER_COLUMNS },
		];
		const leftOut = await countLeftOut(database, id);
		const tables = Object.fromEntries(
			written.map(({ name, columns }) => [name, { columns, ...digestOf(file, name, columns) }]),
		);
		const digest = writeManifest(file, {
			product: PRODUCT,
			format: FORMAT,
			schema: await lastMigration(database),
			organization: { id: uuid.toLowerCase(), name: String(organization.name) },
			exported_at: now(),
			tables,
			sealed_to: jwk ? await calculateJwkThumbprint(jwk) : null,
			secrets: digestOf(file, "secrets", SECRET_COLUMNS),
			left_out: [
				...leftOut,
				...(jwk ? [] : secrets).map(({ table, column, rows }) => ({
					table,
					rows,
					because: `The secrets in ${column}: no key was given to encrypt them for.`,
				})),
			],
		});
		file.close();
		renameSync(part, path);
		if (!keepsHold && !wasHeld) await database.rows(LET_GO, id);
		return {
			organization: uuid.toLowerCase(),
			file: path,
			rows: Object.values(tables).reduce((sum, { rows }) => sum + rows, 0),
			digest,
			secrets: jwk ? `${secrets.reduce((sum, { rows }) => sum + rows, 0)} encrypted` : "left out",
			changes:
				keepsHold || wasHeld
					? "rejected until npm run admin -- organization release"
					: "accepted again",
		};
	} catch (error) {
		if (file.isOpen) file.close();
		rmSync(part, { force: true });
		if (!wasHeld) await database.rows(LET_GO, id).catch(() => {});
		throw error;
	}
}

/** Lets an organization be changed again that was exported with --move, or whose export was killed. */
export async function release(database: Database, uuid: string) {
	const [found] = await database.rows(
		"select id, moving ->> 'file' as source from organizations where uuid = ?1",
		uuid.toLowerCase(),
	);
	if (!found) throw new TakeoutError("There is no organization with this id.");
	if (found.source !== null)
		throw new TakeoutError(
			"The organization is being imported. Run the import again to finish it.",
		);
	await database.rows(LET_GO, Number(found.id));
	return { released: uuid.toLowerCase() };
}
