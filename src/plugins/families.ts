import { or, type SQL, sql } from "drizzle-orm";
import { type Capabilities, plugins } from "../db/schema.ts";

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
	/** The condition on `plugins` that selects the plugins of this family. */
	holds: SQL;
	/** Default for plugins that are created through this family. */
	capabilities: Capabilities;
};

const listOf = (name: keyof Capabilities) =>
	sql`json_extract(${plugins.capabilities}, ${`$.${name}`})`;

const hasAny = (...methods: string[]) =>
	sql`exists (select 1 from json_each(coalesce(${listOf("methods")}, '[]')) where value in ${methods})`;

export const destination: Family = {
	name: "pipeline_destinations",
	holds: hasAny("onEvent", "exportEvents", "composeWebhook"),
	capabilities: { methods: ["onEvent"] },
};

export const frontendApp: Family = {
	name: "pipeline_frontend_apps",
	holds: sql`(${listOf("methods")} is null and ${listOf("scheduled_tasks")} is null)`,
	capabilities: {},
};

export const importApp: Family = {
	name: "pipeline_import_apps",
	holds: sql`(json_array_length(coalesce(${listOf("scheduled_tasks")}, '[]')) > 0 or (${listOf("methods")} is not null
		and not ${hasAny("onEvent", "exportEvents", "composeWebhook", "processEvent")}))`,
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

/** The condition on `plugins` that a plugin belongs to one of these families. */
export const inFamilies = (names: Family["name"][]) =>
	or(...families.filter(({ name }) => names.includes(name)).map(({ holds }) => holds));
