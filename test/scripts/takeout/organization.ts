import type { SQLInputValue } from "node:sqlite";
import { v7 } from "uuid";
import { TABLES } from "../../../scripts/takeout/tables.ts";
import { cipherOf } from "../../../src/keys/secrets.ts";
import { CONFIGS, type Deployment } from "./deployment.ts";

/** Values that are hard to keep: too long for a number, empty, large, in another script, quoted. */
export const TEXTS = [
	"",
	"naïve 日本語 𝒳",
	`it's "quoted" \\ 'twice'\n\t`,
	"x".repeat(60_000),
	"007",
	"1e3",
];

/** What rows of each table have in common, by the columns that refer to others or have a form. */
type Values = Record<string, SQLInputValue>;

/** Columns with JSON or another form that triggers and generated columns read. */
const FORMS: Values = {
	"activity_log.changes": "[]",
	"activity_log.scope": "Organization",
	"activity_log.activity": "updated",
	"activity_log.is_system": 0,
	"activity_log.trigger": null,
	"activity_log.created_at": 1_700_000_000_000,
	"audit_streams.destination": "{}",
	"batch_exports.destination": "{}",
	"batch_exports.deleted": 0,
	"domains.break_glass": "[]",
	"notifications.recipients": '"admins"',
	"plugin_configs.config": "{}",
	"plugins.capabilities": "{}",
	"roles.description": "",
	"webhooks.selectors": '["Domain"]',
};

/** Whether a column is part of a key, or of a unique index. */
function isUnique(table: string, name: string) {
	const config = CONFIGS.get(table);
	const keys = [
		...(config?.primaryKeys.map(({ columns }) => columns) ?? []),
		...(config?.indexes.map(({ config }) => (config.unique ? config.columns : [])) ?? []),
		config?.columns.filter((column) => column.isUnique || column.primary) ?? [],
	];
	return keys.some((columns) => columns.some((column) => "name" in column && column.name === name));
}

/** Fills an organization with rows in every table that files have, and in those that they haven't. */
export async function fill(
	deployment: Deployment,
	people: string[] = ["ann@example.com", "bo@example.com"],
) {
	const id = v7();
	const { sqlite } = deployment;
	let count = 0;
	const next = () => {
		count += 1;
		return count;
	};
	const ids: Record<string, SQLInputValue> = {};
	const users = people.map((email) => {
		deployment.insert("users", {
			uuid: v7(),
			distinct_id: v7(),
			email,
			first_name: "Ünal",
			created_at: "2026",
			is_email_verified: 1,
		});
		return Number(deployment.all("select max(id) as id from users")[0]?.id);
	});
	const account = v7();
	deployment.insert("users", {
		uuid: account,
		distinct_id: v7(),
		email: `${account}@service.invalid`,
		is_service_account: 1,
		created_at: "2026",
	});
	const account_id = Number(deployment.all("select max(id) as id from users")[0]?.id);
	const position = Number(
		deployment.all("select coalesce(max(position), 0) as n from activity_log")[0]?.n,
	);
	deployment.insert("organizations", {
		uuid: id,
		name: "Ærø",
		slug: `s-${id}`,
		plugins_access_level: 9,
		created_at: "2026",
		updated_at: "2026",
		access: '{"project":2}',
	});
	ids.organizations = Number(deployment.all("select max(id) as id from organizations")[0]?.id);
	const uuid = (row: number) => `${v7().slice(0, -1)}${row}`;
	/** The value of a column in the row with this number. */
	const valueIn = (
		table: string,
		name: string,
		type: string,
		row: number,
	): SQLInputValue | undefined => {
		const path = `${table}.${name}`;
		if (path in FORMS) return FORMS[path];
		if (name === "organization_id") return ids.organizations ?? null;
		if (name === "organization_uuid") return id;
		if (path === "service_accounts.user_id" || path === "personal_api_keys.user_id")
			return account_id;
		if (name === "user_id") return users[row] ?? null;
		if (name === "created_by") return users[0] ?? null;
		if (path === "activity_log.position") return position + 5 * (row + 1);
		if (["webhooks.position", "audit_streams.position"].includes(path)) return position + 7;
		if (name === "lease_expires_at") return null;
		for (const [of, parent] of [
			["project_id", "projects"],
			["team_id", "projects"],
			["batch_export_id", "batch_exports"],
			["plugin_id", "plugins"],
			["plugin_config_id", "plugin_configs"],
			["role_id", "roles"],
			["domain_id", "domains"],
			["key_id", "personal_api_keys"],
			["service_account_id", "service_accounts"],
		])
			if (name === of && parent) return ids[parent] ?? null;
		if (path === "access_controls.role_id") return null;
		if (["projects.id", "plugins.id", "plugin_configs.id"].includes(path)) return undefined;
		if (path === "batch_exports.id") return undefined;
		if (path === "events.id" || path === "persons.id")
			return (BigInt(Number(ids.projects)) << 41n) + 9_007_199_254n + BigInt(row);
		if (path === "events.uuid") return new Uint8Array(16).fill(row + 200);
		if (path === "plugin_jobs.id") return Math.floor(Math.random() * 2 ** 53);
		if (type === "integer") return row;
		if (type === "real") return 0.1 + row;
		if (name === "uuid" || name === "id") return uuid(row);
		if (CONFIGS.get(table)?.columns.find((column) => column.name === name)?.dataType === "json")
			return row === 0 ? "[]" : '{"a":9007199254740993}';
		const text = String(TEXTS[(next() + row) % TEXTS.length]);
		return isUnique(table, name) ? `${text.slice(0, 50)}-${v7()}` : text;
	};
	const first = ["projects", "plugins", "domains"];
	const names = TABLES.map(({ name }) => name).filter((name) => !first.includes(name));
	for (const name of [...first, ...names]) {
		const config = CONFIGS.get(name);
		if (!config || name === "organizations") continue;
		const single = ["service_accounts"].includes(name);
		for (let row = 0; row < (single ? 1 : users.length); row += 1) {
			const values = Object.fromEntries(
				config.columns.flatMap((column) => {
					if (column.generated) return [];
					const value = valueIn(name, column.name, column.getSQLType(), row);
					return value === undefined ? [] : [[column.name, value]];
				}),
			);
			if (name === "access_controls") Object.assign(values, { role_id: null, resource: "project" });
			if (name === "batch_export_runs")
				Object.assign(values, { by: "arrival", status: "Completed" });
			if (name === "service_accounts") values.id = account;
			deployment.insert(name, values);
			const key = config.columns.find((column) => column.name === "id") ? "id" : undefined;
			if (row === 0 && key)
				ids[name] = (values.id ??
					Number(deployment.all(`select max(id) as id from "${name}"`)[0]?.id)) as SQLInputValue;
		}
	}
	sqlite
		.prepare("update domains set break_glass = json_array(?) where organization_id = ?")
		.run(users[0] ?? 0, Number(ids.organizations));
	sqlite
		.prepare("delete from alerts where organization_id = ? and subject = ''")
		.run(Number(ids.organizations));
	await sealSecrets(deployment, Number(ids.organizations), id);
	return { id, row_id: Number(ids.organizations), users, account };
}

/** The secrets of the organization, by where they are stored. */
export const SECRET = "s3cr€t";

async function sealSecrets({ sqlite, env }: Deployment, organization: number, uuid: string) {
	const of = (table: string) =>
		sqlite.prepare(`select * from "${table}" where organization_id = ?`).all(organization);
	const set = (table: string, column: string, id: SQLInputValue | undefined, value: string) =>
		sqlite.prepare(`update "${table}" set "${column}" = ? where id = ?`).run(value, id ?? null);
	const seal = (table: string, row: unknown, field: string) =>
		cipherOf(env, table, String(row)).seal(field, SECRET);
	for (const { id } of of("domains"))
		set("domains", "oidc_client_secret", id, await seal("domains", id, "oidc_client_secret"));
	for (const { id } of of("webhooks")) {
		set("webhooks", "secret", id, await seal("webhooks", id, "secret"));
		set("webhooks", "previous_secret", id, await seal("webhooks", id, "secret"));
		set("webhooks", "routing_key", id, await seal("webhooks", id, "routing_key"));
	}
	for (const { id, url } of of("plugins"))
		set(
			"plugins",
			"private_token",
			id,
			await seal("plugins", JSON.stringify([uuid, url]), "private_token"),
		);
	for (const [table, key, prefix] of [
		["batch_exports", "uuid", "destination"],
		["audit_streams", "id", "destination"],
		["plugin_configs", "uuid", "config"],
	] as const)
		for (const row of of(table)) {
			const config = { "it's": await seal(table, row[key], `${prefix}.it's`), plain: "x" };
			const value = table === "plugin_configs" ? config : { type: "S3", config };
			set(table, prefix, row.id, JSON.stringify(value));
		}
}
