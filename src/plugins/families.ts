import { type SQL, sql } from "drizzle-orm";
import { type Capabilities, plugins } from "../db/schema.ts";

/** One of the three listings over the one table of plugins (behaviour 9). They may overlap. */
export type Family = {
	/** What makes a plugin one of it, of a statement over `plugins`. */
	holds: SQL;
	/** Those of a plugin that is made here and says nothing of its own. */
	capabilities: Capabilities;
};

const list = (name: keyof Capabilities) =>
	sql`json_extract(${plugins.capabilities}, ${`$.${name}`})`;

const has = (...methods: string[]) =>
	sql`exists (select 1 from json_each(coalesce(${list("methods")}, '[]')) where value in ${methods})`;

export const destination: Family = {
	holds: has("onEvent", "exportEvents", "composeWebhook"),
	capabilities: { methods: ["onEvent"] },
};

export const frontendApp: Family = {
	holds: sql`(${list("methods")} is null and ${list("scheduled_tasks")} is null)`,
	capabilities: {},
};

export const importApp: Family = {
	holds: sql`(json_array_length(coalesce(${list("scheduled_tasks")}, '[]')) > 0 or (${list("methods")} is not null
		and not ${has("onEvent", "exportEvents", "composeWebhook", "processEvent")}))`,
	capabilities: { scheduled_tasks: ["runEveryHour"] },
};
