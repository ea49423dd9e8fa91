import { env } from "cloudflare:workers";
import { createClient } from "@clickhouse/client-web";
import { eventsOf, personsOf } from "./events.ts";
import { missing } from "./missing.ts";

/** Why tests with ClickHouse are skipped; "" if it runs. */
export const noClickHouse = await missing("ClickHouse", `${env.CLICKHOUSE_URL}/ping`);

/** The URL and credentials of ClickHouse. */
export const access = {
	url: env.CLICKHOUSE_URL,
	username: env.CLICKHOUSE_USER,
	password: env.CLICKHOUSE_PASSWORD ?? "",
	database: env.CLICKHOUSE_DATABASE,
};

/** ClickHouse's tables, which contain copies of D1's rows. */
const tables = {
	events: `create table if not exists events (team_id Int64, uuid UUID, event String, distinct_id String,
		person_id Nullable(String), properties String, person_properties String, elements_chain String,
		timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC'))
		engine = MergeTree order by (team_id, _inserted_at, uuid)`,
	persons: `create table if not exists persons (team_id Int64, distinct_id String, person_id String, properties String,
		person_version UInt64, created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC'))
		engine = MergeTree order by (team_id, distinct_id)`,
};

/** Creates the tables, if ClickHouse is available. */
export async function create() {
	if (noClickHouse) return;
	const client = createClient({ ...access, keep_alive: { enabled: false } });
	for (const query of Object.values(tables)) await client.command({ query });
}

/** Copies a project's events and persons from D1 to ClickHouse. */
export async function mirror(team_id: number) {
	const client = createClient({
		...access,
		keep_alive: { enabled: false },
		clickhouse_settings: { date_time_input_format: "best_effort" },
	});
	const format = "JSONEachRow";
	await client.insert({ table: "events", values: await eventsOf(team_id), format });
	await client.insert({ table: "persons", values: await personsOf(team_id), format });
}
