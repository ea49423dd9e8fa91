/** Imports an organization from a file. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { v7 } from "uuid";
import { type Database, type Statement, TakeoutError } from "./database.ts";
import { lastMigration } from "./export.ts";
import { type Manifest, openFile, readRows } from "./file.ts";
import { putBack } from "./secrets.ts";
import { ofOrganization, TABLES, type Table, USER_COLUMNS, type Way } from "./tables.ts";

/** SQL for the id of the user with a UUID in the file: who stands in for a person, or an account. */
const userWith = (uuid: string) =>
	`coalesce((select w.user_id from moved_users as w where w.organization_id = ?2 and w.uuid = ${uuid}),
		(select u.id from users as u where u.uuid = ${uuid} and u.is_service_account))`;

/** SQL for the value of a column, from one in the file. `?2` is the organization, `?3` the base. */
const READ: Record<Exclude<Way, "counted">, (value: string) => string> = {
	plain: (value) => value,
	position: (value) => `${value} + cast(?3 as integer)`,
	user: userWith,
	users: (value) =>
		`(select json_group_array(${userWith("list.value")}) from json_each(${value}) as list)`,
	export: (value) =>
		`(select e.id from batch_exports as e where e.organization_id = ?2 and e.uuid = ${value})`,
	blob: (value) => `unhex(${value})`,
};

/** Returns the statement that inserts rows, which a killed import may have inserted before. */
function insert(table: Table, columns: string[], rows: string, { id, base }: Target): Statement {
	const given = table.columns.flatMap(({ name, way }) => {
		const at = columns.indexOf(name);
		return way === "counted" || at === -1
			? []
			: [{ name, value: READ[way](`given.value ->> ${at}`) }];
	});
	const isNew =
		table.name === "batch_exports"
			? `not exists (select 1 from batch_exports as e where e.organization_id = ?2 and e.uuid = given.value ->> ${columns.indexOf("uuid")})`
			: "true";
	const names = given.map(({ name }) => `"${name}"`);
	const values = given.map(({ value }) => value);
	if (hasOrganization(table)) {
		names.push('"organization_id"');
		values.push("?2");
	}
	return {
		sql: `insert into "${table.name}" (${names.join(", ")}) select ${values.join(", ")} from json_each(?1) as given
			where ?2 is ?2 and ?3 is ?3 and ${isNew} on conflict do nothing`,
		values: [rows, id, base],
	};
}

/** Whether the table has the column `organization_id`, which files don't have. */
const hasOrganization = ({ name, tie }: Table) => !tie.parent && name !== "organizations";

/** The organization in this deployment. */
type Target = { id: number; base: number };

const CHUNK_BYTES = 900_000;

/** Returns rows as JSON lists of about 900 KB: a value can have 2 MB. */
function* chunks(rows: Iterable<string>) {
	let chunk: string[] = [];
	let bytes = 0;
	for (const row of rows) {
		if (bytes > 0 && bytes + row.length > CHUNK_BYTES) {
			yield `[${chunk.join(",")}]`;
			[chunk, bytes] = [[], 0];
		}
		chunk.push(row);
		bytes += row.length;
	}
	if (chunk.length > 0) yield `[${chunk.join(",")}]`;
}

/** Returns what the file's objects would share with others of this deployment. */
async function findTaken(database: Database, file: DatabaseSync, manifest: Manifest) {
	const taken: string[] = [];
	for (const { name, unique } of TABLES) {
		const columns = manifest.tables[name]?.columns ?? [];
		// Rows of projects, whose ids are checked.
		if (name === "events" || name === "persons") continue;
		for (const key of unique)
			for (const chunk of chunks(
				readRows(
					file,
					name,
					key.filter((column) => columns.includes(column)),
				),
			)) {
				const same = key.map((column, i) => `t."${column}" = value ->> ${i}`).join(" and ");
				const rows = await database.rows(
					`select value ->> 0 as value from json_each(?1) where exists (select 1 from "${name}" as t where ${same}) limit 3`,
					chunk,
				);
				taken.push(...rows.map(({ value }) => `${name}.${key.join()} ${value}`));
			}
	}
	for (const chunk of chunks(readRows(file, "projects", ["id"]))) {
		const rows = await database.rows(
			`select value ->> 0 as value from json_each(?1) where exists (select 1 from activity_log where project_id = value ->> 0 and not is_system)
				or exists (select 1 from events where team_id = value ->> 0) or exists (select 1 from persons where team_id = value ->> 0) limit 3`,
			chunk,
		);
		taken.push(...rows.map(({ value }) => `projects.id ${value}`));
	}
	const accounts = file
		.prepare("select json_array(uuid) as row from users where is_service_account")
		.all();
	for (const chunk of chunks(accounts.map(({ row }) => String(row)))) {
		const rows = await database.rows(
			"select value ->> 0 as value from json_each(?1) where exists (select 1 from users where uuid = value ->> 0) limit 3",
			chunk,
		);
		taken.push(...rows.map(({ value }) => `service_accounts.id ${value}`));
	}
	return [...new Set(taken)];
}

/**
 * Inserts the organization, in which nothing can be changed until all of it is there. If an earlier
 * import of the same file was killed, continues it.
 */
async function begin(
	database: Database,
	file: DatabaseSync,
	manifest: Manifest,
	digest: string,
): Promise<Target> {
	const find = async () =>
		(
			await database.rows(
				"select id, moving ->> 'file' as file, moving ->> 'base' as base from organizations where uuid = ?1",
				manifest.organization.id,
			)
		)[0];
	const found = await find();
	if (found && found.file !== digest)
		throw new TakeoutError(
			found.file === null
				? "The organization is already here."
				: "The organization is being imported from another file. Finish that first: run its import again.",
		);
	if (!found) {
		const taken = await findTaken(database, file, manifest);
		if (taken.length > 0)
			throw new TakeoutError(
				`Something of this deployment has the same id or name: ${taken.slice(0, 10).join(", ")}. Nothing was imported.`,
			);
		const [row = ""] = readRows(
			file,
			"organizations",
			manifest.tables.organizations?.columns ?? [],
		);
		const table = TABLES.find(({ name }) => name === "organizations");
		if (!table) throw new Error("There is no table of organizations.");
		const { sql, values = [] } = insert(
			table,
			manifest.tables.organizations?.columns ?? [],
			`[${row}]`,
			{ id: 0, base: 0 },
		);
		const entries = manifest.tables.activity_log?.rows ?? 0;
		await database.batch(
			{ sql, values },
			{
				sql: "update organizations set moving = json_object('file', ?2, 'base', (select coalesce(max(position), 0) from activity_log)) where uuid = ?1",
				values: [manifest.organization.id, digest],
			},
			// Entries of others come after those of the file.
			...(entries > 0 ? [reserve(manifest.organization.id, entries)] : []),
		);
	}
	const target = await find();
	if (!target) throw new TakeoutError("Its slug was taken meanwhile. Nothing was imported.");
	return { id: Number(target.id), base: Number(target.base) };
}

/**
 * Returns the statement that takes the last position of the file's log, so that no other entry gets
 * a position of the file.
 */
const reserve = (uuid: string, number: number): Statement => ({
	sql: `insert into activity_log (position, activity, scope, item_id, is_system, created_at)
		select (moving ->> 'base') + cast(?2 as integer), 'imported', 'Organization', ?1, 1, 0 from organizations where uuid = ?1`,
	values: [uuid, number],
});

/** Returns the statements that add users: those who stand in for people, and accounts for these. */
function insertUsers(rows: string, organization: string, { id }: Target): Statement[] {
	const of = (name: string) => `value ->> ${USER_COLUMNS.indexOf(name)}`;
	const [random, other, isMember] = [0, 1, 2].map((i) => `value ->> ${USER_COLUMNS.length + i}`);
	const standIn = `${of("uuid")} || '.' || ?3 || '@moved.invalid'`;
	const insert = (uuid: string, email: string, where: string) => ({
		sql: `insert into users (uuid, distinct_id, email, first_name, last_name, is_active, is_service_account, created_at)
			select ${uuid}, ${uuid}, ${email}, ${["first_name", "last_name", "is_active", "is_service_account", "created_at"].map(of).join(", ")}
			from json_each(?1) where ?2 is ?2 and ?3 is ?3 and ${where} on conflict do nothing`,
		values: [rows, id, organization],
	});
	return [
		insert(of("uuid"), of("email"), of("is_service_account")),
		insert(`${random}`, standIn, `not (${of("is_service_account")})`),
		{
			sql: `insert into moved_users (organization_id, uuid, user_id, email)
				select ?2, ${of("uuid")}, u.id, ${of("email")} from json_each(?1) join users as u on u.email = ${standIn}
				where not (${of("is_service_account")}) on conflict do nothing`,
			values: [rows, id, organization],
		},
		// Members who have no account here can sign in with their address, and get what is theirs.
		insert(
			`iif(exists (select 1 from users as u where u.uuid = ${of("uuid")}), ${other}, ${of("uuid")})`,
			of("email"),
			`not (${of("is_service_account")}) and ${of("is_active")} and ${isMember}`,
		),
	];
}

/** Adds the users of the file. */
async function importUsers(
	database: Database,
	file: DatabaseSync,
	organization: string,
	target: Target,
) {
	const isMember = "exists (select 1 from members where members.user_id = users.uuid)";
	const rows = file
		.prepare(
			`select json_array(${USER_COLUMNS.join(", ")}) as row, ${isMember} as is_member from users`,
		)
		.iterate();
	const extended = function* () {
		for (const { row, is_member } of rows)
			yield `${String(row).slice(0, -1)},"${v7()}","${v7()}",${is_member}]`;
	};
	for (const chunk of chunks(extended()))
		await database.batch(...insertUsers(chunk, organization, target));
}

/** Adds the rows of a table. */
async function importTable(
	database: Database,
	file: DatabaseSync,
	table: Table,
	columns: string[],
	target: Target,
) {
	const { id, base } = target;
	// Entries of the log have inserted some.
	if (table.name === "alerts")
		await database.rows("delete from alerts where organization_id = ?1", id);
	const rows = readRows(file, table.name, columns);
	const all = table.name === "activity_log" ? withoutLast(rows) : rows;
	for (const chunk of chunks(all)) await database.batch(insert(table, columns, chunk, target));
	const [last] =
		table.name === "activity_log" ? readRows(file, table.name, columns, "rowid desc") : [];
	if (last)
		await database.batch(
			{
				sql: "delete from activity_log where position = cast(?1 as integer) + ?2 and organization_id is null and activity = 'imported'",
				values: [base, JSON.parse(last)[columns.indexOf("position")]],
			},
			insert(table, columns, `[${last}]`, target),
		);
}

function* withoutLast(rows: Iterable<string>) {
	let before: string | undefined;
	for (const row of rows) {
		if (before !== undefined) yield before;
		before = row;
	}
}

/**
 * Tables in which a row of the file can be missing because others have its id or name. Of the rest,
 * rows that have expired may already be deleted.
 */
const SHARED = TABLES.filter(({ unique }) => unique.length > 0);

/** @throws TakeoutError if something has got the same id or name since the import began */
async function checkCounts(database: Database, manifest: Manifest, { id }: Target) {
	for (const table of SHARED) {
		const wanted = manifest.tables[table.name]?.rows ?? 0;
		const found = await database.count(
			`select count(*) as n from "${table.name}" where ${ofOrganization(table)}`,
			id,
		);
		if (found !== wanted)
			throw new TakeoutError(
				`Of ${wanted} rows of ${table.name}, ${found} could be imported: something with the same id or name was created meanwhile. Remove it, and run the import again. Until then, the organization can't be changed.`,
			);
	}
}

type Options = { path: string; jwk?: Record<string, unknown> | undefined };

/**
 * Imports the organization of a file. It can be killed at any time and run again.
 * @throws TakeoutError if the file is damaged or newer, or something has the same id or name
 */
export async function importOrganization(database: Database, { path, jwk }: Options) {
	const { file: original, manifest, digest } = openFile(path);
	original.close();
	const schema = await lastMigration(database);
	if (manifest.schema > schema)
		throw new TakeoutError(
			`${path} is of a newer version: its schema is ${manifest.schema}, that of this deployment ${schema}. Deploy that version first.`,
		);
	const folder = mkdtempSync(join(tmpdir(), "tenantry-import-"));
	try {
		const copy = join(folder, "file.sqlite");
		copyFileSync(path, copy);
		const file = new DatabaseSync(copy);
		file.exec("pragma journal_mode = off; pragma synchronous = off");
		const lost = await putBack(database, file, jwk);
		const target = await begin(database, file, manifest, digest);
		await importUsers(database, file, manifest.organization.id, target);
		for (const table of TABLES.filter(({ name }) => name !== "organizations"))
			await importTable(database, file, table, manifest.tables[table.name]?.columns ?? [], target);
		await checkCounts(database, manifest, target);
		// The end: as long as it isn't reached, the command can be run again.
		const [counted] = await database.batch(
			{
				sql: "select count(*) as n from moved_users where organization_id = ?1 and user_id in (select user_id from members where organization_id = ?1)",
				values: [target.id],
			},
			{ sql: "update organizations set moving = null where id = ?1", values: [target.id] },
		);
		file.close();
		return {
			organization: manifest.organization.id,
			name: manifest.organization.name,
			rows: Object.values(manifest.tables).reduce((sum, { rows }) => sum + rows, 0),
			waiting_members: Number(counted?.[0]?.n),
			lost_secrets: lost.reduce((sum, { rows }) => sum + rows, 0),
			switched_off: lost.map(({ table, rows }) => `${table}: ${rows}`).join(", ") || "nothing",
		};
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
