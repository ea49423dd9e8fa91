import { readdirSync } from "node:fs";
import { is, sql } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { expect, test } from "vitest";
import { keptBy } from "../../src/access/kept.ts";
import { MAX_COLUMNS } from "../../src/db/schema/deletions.ts";

const SCHEMA = new URL("../../src/db/schema/", import.meta.url);

const modules: object[] = await Promise.all(
	readdirSync(SCHEMA.pathname).map((file) => import(new URL(file, SCHEMA).href)),
);
const tables = modules
	.flatMap((module) => Object.values(module))
	.filter((value) => is(value, SQLiteTable))
	.map((table) => ({ table, ...getTableConfig(table) }));

/** Returns the names of the tables from which rows are deleted with one of a table. */
function cascade(name: string, found = new Set<string>()) {
	if (found.has(name)) return found;
	found.add(name);
	for (const { name: child, foreignKeys } of tables)
		for (const key of foreignKeys) {
			const [parent] = key.reference().foreignColumns;
			const isParent = parent && getTableConfig(parent.table).name === name;
			if (isParent && key.onDelete === "cascade") cascade(child, found);
		}
	return found;
}

/** Tables that aren't kept, and why. */
const LEFT_OUT: Record<string, string> = {
	plugin_logs: "Logs are kept for seven days anyway.",
	alerts: "What waits to be mailed is in the feed.",
	invites: "Invites expire after three days.",
};

/** The types, with the tables of their rows. */
const TYPES = {
	organization: "organizations",
	project: "projects",
	webhook: "webhooks",
	plugin: "plugins",
	plugin_config: "plugin_configs",
} as const;

test.each(Object.entries(TYPES))(
	"all rows that go with a %s are kept, or left out for a reason",
	(type, table) => {
		const name = Object.keys(TYPES).find((one): one is keyof typeof TYPES => one === type);
		const kept = keptBy(name ?? "project", { item_id: "1", row: 1, organization: sql`1` });
		const names = kept.tables.map(({ name }) => name);
		const lost = [...cascade(table)].filter((each) => !names.includes(each) && !(each in LEFT_OUT));
		expect(lost).toEqual([]);
		for (const { name, table } of kept.tables) {
			expect(getTableConfig(table).name).toBe(name);
			expect(getTableConfig(table).columns.length).toBeLessThanOrEqual(MAX_COLUMNS);
		}
	},
);
