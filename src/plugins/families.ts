import { type SQL, sql } from "drizzle-orm";
import { type Capabilities, plugins } from "../db/schema/plugins.ts";

export const FAMILIES = [
	"pipeline_destinations",
	"pipeline_frontend_apps",
	"pipeline_import_apps",
] as const;

/**
 * One of the three lists of plugins (docs/plugins.md#families). All share one table, and a plugin
 * may be in several.
 */
export type Family = {
	/** Used in paths and in the field `families`. */
	name: (typeof FAMILIES)[number];
	/** Its part of `plugins.families`. */
	bit: number;
	/** The condition on `plugins` for the plugins of this family. It is the condition of the family's partial index. */
	holds: SQL;
	/** Default for plugins that are created through this family. */
	capabilities: Capabilities;
};

export const destination: Family = {
	name: "pipeline_destinations",
	bit: 1,
	holds: sql`${plugins.families} & 1`,
	capabilities: { methods: ["onEvent"] },
};

export const frontendApp: Family = {
	name: "pipeline_frontend_apps",
	bit: 2,
	holds: sql`${plugins.families} & 2`,
	capabilities: {},
};

export const importApp: Family = {
	name: "pipeline_import_apps",
	bit: 4,
	holds: sql`${plugins.families} & 4`,
	capabilities: { scheduled_tasks: ["runEveryHour"] },
};

const families = [destination, frontendApp, importApp];

/** A column with the names of a plugin's families, for queries over `plugins`. */
export const familyNames = sql<string>`(select json_group_array(name) from (${sql.join(
	families.map(({ name, holds }) => sql`select ${name} as name where ${holds}`),
	sql` union all `,
)}))`
	.mapWith((json): Family["name"][] => JSON.parse(json))
	.as("families");

/**
 * Returns one condition on `plugins` for each family with one of these bits, because each family has an index. No two of them
 * match the same plugin. Without bits, returns `[undefined]`. With all bits, returns a single condition, because few plugins
 * have no family and D1 limits the parts of a union.
 */
export function familyByFamily(bits: number | undefined) {
	if (bits === undefined) return [undefined];
	const asked = families.filter(({ bit }) => bits & bit);
	if (asked.length === families.length) return [sql`${plugins.families} & ${bits}`];
	return asked.map(({ bit, holds }) => {
		const earlier = sql.raw(String(bits & (bit - 1)));
		return sql`${holds} and not ${plugins.families} & ${earlier}`;
	});
}

/** Returns the sums of bits that include both of these. */
export const sumsWith = (one: number, other: number) =>
	Array.from({ length: 2 ** families.length }, (_, sum) => sum).filter(
		(sum) => sum & one && sum & other,
	);

/** Returns the sum of the bits of these families. */
export const bitsOf = (names: Family["name"][]) =>
	families.reduce((bits, { name, bit }) => (names.includes(name) ? bits | bit : bits), 0);
