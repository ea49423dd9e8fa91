import { or, type SQL, sql } from "drizzle-orm";
import { type Capabilities, plugins } from "../../db/schema/plugins.ts";

export const FAMILIES = [
	"pipeline_destinations",
	"pipeline_frontend_apps",
	"pipeline_import_apps",
] as const;

/** One of three lists of plugins of one table (docs/plugins.md#families). */
export type Family = {
	/** Used in paths and in the field `families`. */
	name: (typeof FAMILIES)[number];
	/** SQL condition on `plugins`: the plugin is in this family. */
	condition: SQL;
	/** Default for plugins that are created through this family. */
	capabilities: Capabilities;
};

export const destination: Family = {
	name: "pipeline_destinations",
	condition: sql`${plugins.families} & 1`,
	capabilities: { methods: ["onEvent"] },
};

export const frontendApp: Family = {
	name: "pipeline_frontend_apps",
	condition: sql`${plugins.families} & 2`,
	capabilities: {},
};

export const importApp: Family = {
	name: "pipeline_import_apps",
	condition: sql`${plugins.families} & 4`,
	capabilities: { scheduled_tasks: ["runEveryHour"] },
};

const families = [destination, frontendApp, importApp];

/** A column with the names of a plugin's families, for queries over `plugins`. */
export const familyNames = sql<string>`(select json_group_array(name) from (${sql.join(
	families.map(({ name, condition }) => sql`select ${name} as name where ${condition}`),
	sql` union all `,
)}))`
	.mapWith((json): Family["name"][] => JSON.parse(json))
	.as("families");

/** SQL condition on `plugins`: the plugin is in one of these families. */
export const isIn = (names: Family["name"][]) => {
	const asked = families.filter(({ name }) => names.includes(name));
	return or(...asked.map(({ condition }) => condition));
};
