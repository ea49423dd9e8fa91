/** The rows in the database while requests are measured. */
import { digest, mask, newValue } from "../../src/keys/keys.ts";

/** The digits in ids that identify the table. */
const TABLES = ["user", "organization", "member", "key", "other"] as const;

/** Returns a UUID that sorts by `n`, which can be SQL. */
const hex = (table: (typeof TABLES)[number]) =>
	`0190${TABLES.indexOf(table).toString().padStart(4, "0")}-0000-7000-8000-`;

/** Returns the id of a row of the table. */
export const uuid = (table: (typeof TABLES)[number], n: number) =>
	`${hex(table)}${n.toString(16).padStart(12, "0")}`;

/** Returns SQL for the id of row `n` of the table. */
export const uuidSql = (table: (typeof TABLES)[number], n: string) =>
	`printf('${hex(table)}%012x', ${n})`;

/**
 * A user who owns an organization with one project. The number of the tenant is the id of all
 * three; `organization` is the UUID.
 */
export type Owner = { id: number; organization: string; project: number; key: string };

const STARTED = "2026-01-01T00:00:00.000Z";

/** The stores of rows and of the records of keys. */
export type Stores = {
	database: D1Database;
	keys: { put: (key: string, record: string) => Promise<unknown> };
};

/** Creates a user with an organization, a project and a key. */
export async function createOwner({ database, keys }: Stores, id: number): Promise<Owner> {
	const key = newValue();
	const hash = await digest(key);
	const organization = uuid("organization", id);
	const run = (sql: string, ...values: unknown[]) => database.prepare(sql).bind(...values);
	await database.batch([
		run(
			"insert into users (id, uuid, distinct_id, first_name, last_name, email, created_at) values (?1, ?2, ?2, 'Ada', 'Owner', 'owner-' || ?3 || '@example.com', ?4)",
			...[id, uuid("user", id), String(id), STARTED],
		),
		run(
			"insert into organizations (id, uuid, name, slug, plugins_access_level, created_at, updated_at) values (?1, ?2, 'Acme', 'acme-' || ?3, 9, ?4, ?4)",
			...[id, organization, String(id), STARTED],
		),
		run(
			"insert into members (id, organization_id, user_id, level, joined_at, updated_at) values (?1, ?2, ?2, 15, ?3, ?3)",
			...[uuid("member", id), id, STARTED],
		),
		run(
			"insert into projects (id, uuid, organization_id, name, created_at) values (?1, ?2, ?1, 'Website', ?3)",
			...[id, uuid("other", id), STARTED],
		),
		run(
			"update users set current_organization_id = ?1, current_project_id = ?1 where id = ?1",
			...[id],
		),
		run(
			"insert into personal_api_keys (id, user_id, label, hash, mask_value, scopes, created_at, last_used_at) values (?1, ?2, 'Bench', ?3, ?4, '[\"*\"]', ?5, ?6)",
			...[uuid("key", id), id, hash, mask(key), STARTED, new Date().toISOString()],
		),
	]);
	await keys.put(
		`key:${hash}`,
		JSON.stringify({
			id: uuid("key", id),
			user_id: id,
			scopes: ["*"],
			organizations: [],
			projects: [],
			expires_at: null,
		}),
	);
	return { id, organization, project: id, key };
}

/**
 * Returns a statement that inserts the rows `?1` (included) to `?2` (excluded) of a table.
 * @param columns SQL for the value of each column, where `i` is the number of the row
 */
export const insertRows = (table: string, columns: Record<string, string | number>) =>
	`insert into ${table} (${Object.keys(columns)
		.map((name) => `"${name}"`)
		.join(", ")})
	with recursive n(i) as (select cast(?1 as integer) union all select i + 1 from n where i + 1 < ?2)
	select ${Object.values(columns).join(", ")} from n`;

/** The first id of users who own no organization. */
export const FIRST_PERSON = 1_000;

/**
 * The columns of people, with the names and email addresses of members in all compared services.
 */
export const people = {
	id: `${FIRST_PERSON} + i`,
	uuid: uuidSql("user", `${FIRST_PERSON} + i`),
	distinct_id: uuidSql("user", `${FIRST_PERSON} + i`),
	first_name: "iif(i < 5, 'Lovelace', 'Grace')",
	last_name: "'Person ' || i",
	email: "'person-' || i || '@example.com'",
	created_at: `'${STARTED}'`,
};

/** SQL for a time that increases with the row number. */
export const TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', 1760000000 + i * 60, 'unixepoch')";

/** Returns the columns of members: each of `people` is a member of the organization. */
export const memberships = (organization: number) => ({
	id: uuidSql("member", `${FIRST_PERSON} + i`),
	organization_id: organization,
	user_id: `${FIRST_PERSON} + i`,
	level: 1,
	joined_at: TIME,
	updated_at: `iif(i < 5, '2100-01-01T00:00:00.000Z', ${TIME})`,
});

/** The number of members of the compared organization, including its owner. */
export const MEMBERS = 1_000;

/** Creates an organization with 1,000 members and a domain. Returns its owner. */
export async function createWorld(stores: Stores) {
	const owner = await createOwner(stores, 1);
	const { database } = stores;
	const rows = (table: string, columns: Record<string, string | number>) =>
		database.prepare(insertRows(table, columns)).bind(0, MEMBERS - 1);
	await database.batch([
		rows("users", people),
		rows("members", memberships(owner.id)),
		database
			.prepare(
				"insert into domains (id, organization_id, domain, claimed_at, verification_challenge) values (?, ?, 'example.com', ?, 'challenge')",
			)
			.bind(uuid("other", 1), owner.id, STARTED),
	]);
	return owner;
}
