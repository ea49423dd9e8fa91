import { sql } from "drizzle-orm";
import { pluginConfigs } from "../../db/schema/plugin_configs.ts";
import { HOUR_MS } from "../../lib/durations.ts";
import { iso } from "../../lib/now.ts";

/*
 * How many jobs of a config succeeded and failed in the last 24 hours. The config has the sums by
 * hour, so jobs that have ended need no rows.
 */

const hourOf = (at: number) => iso(at).slice(0, "2026-01-01T00".length);

/** Returns the earliest hour of the last 24. */
const firstHour = () => hourOf(Date.now() - 23 * HOUR_MS);

/** SQL for `plugin_configs.results` with another result. */
export const withResult = (result: "done" | "failed") =>
	sql`(select json_group_object(key, value) from (
		select key, sum(value) as value from (
			select key, value from json_each(${pluginConfigs.results}) where key >= ${firstHour()}
			union all select ${`${hourOf(Date.now())} ${result}`}, 1)
		group by key))`;

/** SQL for the share of successful jobs, from 0 to 1; null if none ended. */
export const successRate = () =>
	sql<
		number | null
	>`(select total(value * (key like '%done')) / sum(value) from json_each(${pluginConfigs.results})
		where key >= ${firstHour()})`;
