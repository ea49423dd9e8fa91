/**
 * The tables of an organization's file, derived from the schema
 * (docs/internals/decisions/0023-takeout.md).
 */
import { readdirSync } from "node:fs";
import { type Column, is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { firstId } from "../../src/db/arrival_id.ts";

const SCHEMA = new URL("../../src/db/schema/", import.meta.url);

const modules: object[] = await Promise.all(
	readdirSync(SCHEMA.pathname).map((file) => import(new URL(file, SCHEMA).href)),
);

const CONFIGS = new Map(
	modules
		.flatMap((module) => Object.values(module))
		.filter((value) => is(value, SQLiteTable))
		.map((table) => [getTableConfig(table).name, getTableConfig(table)]),
);

type Config = ReturnType<typeof getTableConfig>;

/** Tables that no organization's file has, and why. */
export const LEFT_OUT: Record<string, string> = {
	assertions: "It is always empty.",
	deleted_rows: "What was deleted can only be restored in this deployment.",
	deletions: "What was deleted can only be restored in this deployment.",
	erasures: "Work in progress about users of this deployment.",
	identities: "People link their accounts at providers again when they next sign in.",
	idempotency_keys: "Requests of the last day, which belong to users.",
	invite_mails: "The mails of the last day, which only limit their number.",
	moved_users: "The people are in the file.",
	oauth_codes: "Codes of an hour, which belong to users.",
	oauth_device_requests: "Codes of an hour, which belong to nobody yet.",
	oauth_refresh_tokens: "Grants belong to users, who allow their apps again.",
	passkeys: "They belong to users, and to this deployment's address.",
	plugin_storage:
		"Its keys are stored only as digests, without which its values can't be decrypted elsewhere.",
	recovery_codes: "They belong to users.",
	sign_in_states: "Sign-ins in progress.",
	sign_ins: "Sign-ins in progress.",
	restore_links: "What was deleted can only be restored in this deployment.",
	signing_keys: "They sign for this deployment. Keep its public keys, to check old files with.",
	task_minutes: "It is about the schedule of this deployment.",
	two_factors: "They belong to users.",
};

/** What ties rows to an organization where no foreign key or `organization_id` does. */
const TIES: Record<string, { column: string; parent: string; key: string }> = {
	events: { column: "team_id", parent: "projects", key: "id" },
	persons: { column: "team_id", parent: "projects", key: "id" },
	personal_api_keys: { column: "user_id", parent: "service_accounts", key: "user_id" },
	scim_groups: { column: "domain_id", parent: "domains", key: "id" },
	scim_group_members: { column: "domain_id", parent: "domains", key: "id" },
	scim_requests: { column: "domain_id", parent: "domains", key: "id" },
	scim_users: { column: "domain_id", parent: "domains", key: "id" },
};

/** Columns with positions in the activity log, which are others in each deployment. */
const POSITIONS = [
	"activity_log.position",
	"alerts.position",
	"audit_streams.position",
	"webhooks.position",
];

/** Columns that the file doesn't have: they get their defaults. */
const NOT_KEPT = [
	"audit_streams.file",
	"batch_exports.id",
	"organizations.id",
	"organizations.moving",
	"personal_api_keys.previous_hash",
	"personal_api_keys.previous_value_expires_at",
];

/** Columns that triggers count when the rows are inserted. */
const COUNTED = ["organizations.active_members", "organizations.invites"];

/** How the value of a column is written to the file. */
export type Way =
	| "plain"
	/** A user, as a UUID. */
	| "user"
	/** A JSON list of users, as one of UUIDs. */
	| "users"
	/** An export, as a UUID. */
	| "export"
	/** The number of the organization's log entries up to a position. */
	| "position"
	/** Bytes, as hexadecimal digits. */
	| "blob"
	/** As `plain`, but not imported. */
	| "counted";

export type Table = {
	name: string;
	columns: { name: string; way: Way }[];
	/** The columns of the primary key. */
	key: string[];
	/** The column that ties a row to the organization, or to a row of the parent. */
	tie: { column: string; parent?: { table: string; key: string } };
	/** The columns, alone or together, that no other row of the deployment may have. */
	unique: string[][];
};

const isKept = (table: string, { name, generated }: Column) =>
	!generated && name !== "lease_expires_at" && !NOT_KEPT.includes(`${table}.${name}`);

/** Returns the column that a foreign key of this one refers to, as `table.column`. */
function referenced({ foreignKeys }: Config, name: string) {
	for (const key of foreignKeys) {
		const { columns, foreignColumns } = key.reference();
		const parent = foreignColumns[columns.findIndex((column) => column.name === name)];
		if (parent) return `${getTableConfig(parent.table).name}.${parent.name}`;
	}
	return undefined;
}

function wayOf(config: Config, column: Column): Way {
	const path = `${config.name}.${column.name}`;
	const parent = referenced(config, column.name);
	if (POSITIONS.includes(path)) return "position";
	if (COUNTED.includes(path)) return "counted";
	if (path === "domains.break_glass") return "users";
	if (parent === "users.id" || ["user_id", "created_by"].includes(column.name)) return "user";
	if (parent === "batch_exports.id") return "export";
	return column.getSQLType() === "blob" ? "blob" : "plain";
}

/** Returns what ties a table to the organization; undefined if nothing does. */
function tieOf(config: Config): Table["tie"] | undefined {
	if (config.name === "organizations") return { column: "id" };
	if (config.columns.some(({ name }) => name === "organization_id"))
		return { column: "organization_id" };
	const tie = TIES[config.name];
	if (tie) return { column: tie.column, parent: { table: tie.parent, key: tie.key } };
	for (const key of config.foreignKeys) {
		const { columns, foreignColumns } = key.reference();
		const [column, parent] = [columns[0], foreignColumns[0]];
		if (!column || !parent || columns.length > 1) continue;
		const table = getTableConfig(parent.table);
		if (table.name in LEFT_OUT || !tieOf(table)) continue;
		return { column: column.name, parent: { table: table.name, key: parent.name } };
	}
	return undefined;
}

const keyOf = ({ columns, primaryKeys }: Config) =>
	(primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);

function toTable(config: Config, tie: Table["tie"]): Table {
	const kept = config.columns.filter(
		(column) =>
			isKept(config.name, column) &&
			column.name !== "organization_id" &&
			!(tie.column === column.name && !tie.parent),
	);
	const columns = kept.map((column) => ({ name: column.name, way: wayOf(config, column) }));
	const plain = columns.filter(({ way }) => way === "plain").map(({ name }) => name);
	const unique = [
		keyOf(config),
		...config.columns.filter(({ isUnique }) => isUnique).map(({ name }) => [name]),
	].filter((names) => names.every((name) => plain.includes(name) && name !== tie.column));
	return { name: config.name, columns, key: keyOf(config), tie, unique };
}

/** Parents first: a table comes after those that its foreign keys refer to. */
function inOrder(tables: Table[]) {
	const sorted: Table[] = [];
	const add = (table: Table) => {
		if (sorted.includes(table)) return;
		const parents = [
			table.tie.parent?.table,
			...(CONFIGS.get(table.name)?.foreignKeys ?? []).map((key) => {
				const [column] = key.reference().foreignColumns;
				return column && getTableConfig(column.table).name;
			}),
		];
		for (const parent of tables) if (parent !== table && parents.includes(parent.name)) add(parent);
		sorted.push(table);
	};
	// The log first: then it makes no webhooks due.
	for (const first of ["organizations", "activity_log"])
		for (const table of tables) if (table.name === first) add(table);
	for (const table of tables) add(table);
	return sorted;
}

/** All tables of the schema. */
export const ALL_TABLES = [...CONFIGS.keys()];

/** The tables of a file besides `users`, in the order in which they are imported. */
export const TABLES = inOrder(
	[...CONFIGS.values()].flatMap((config) => {
		const tie = config.name in LEFT_OUT || config.name === "users" ? undefined : tieOf(config);
		return tie ? [toTable(config, tie)] : [];
	}),
);

/** The columns of `users` in a file. All others are about this deployment. */
export const USER_COLUMNS = [
	"uuid",
	"email",
	"first_name",
	"last_name",
	"is_active",
	"is_service_account",
	"created_at",
];

/** Tables whose rows are stored in the order of their projects. */
const BY_ARRIVAL = ["events", "persons"];

/**
 * Returns the SQL condition for the rows of a table with one value of the tie, and the values that
 * it binds after it.
 */
export const ofTie = ({ name, tie }: Table, value: string | number) =>
	BY_ARRIVAL.includes(name)
		? {
				where: "id >= cast(?2 as integer) and id < cast(?3 as integer)",
				values: [firstId(Number(value)), firstId(Number(value) + 1)],
			}
		: { where: `"${tie.column}" = ?2`, values: [value] };

/** Rows that aren't exported: objects that were deleted and are kept where they are. */
const ONLY: Record<string, string> = { batch_exports: " and not deleted" };

/** Returns the SQL condition for all rows of the organization with the id `?1`. */
export function ofOrganization({ name, tie }: Table): string {
	const parent = TABLES.find(({ name }) => name === tie.parent?.table);
	if (!tie.parent || !parent) return `"${tie.column}" = ?1${ONLY[name] ?? ""}`;
	return `"${tie.column}" in (select "${tie.parent.key}" from "${parent.name}" where ${ofOrganization(parent)})`;
}
