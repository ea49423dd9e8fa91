import { env } from "cloudflare:workers";
import { createClient } from "@clickhouse/client-web";
import { eq } from "drizzle-orm";
import { events, persons } from "../../src/db/schema.ts";
import { db } from "./world.ts";

/** Why there is no ClickHouse on this machine; "": there is one. */
export const noClickHouse = await fetch(`${env.CLICKHOUSE_URL}/ping`).then(
	async (answer) => {
		const text = await answer.text();
		return text === "Ok.\n" ? "" : "no Python or chdb here";
	},
	() => "no Python or chdb here",
);

/** What opens it. */
export const access = {
	url: env.CLICKHOUSE_URL,
	username: env.CLICKHOUSE_USER,
	password: env.CLICKHOUSE_PASSWORD ?? "",
	database: env.CLICKHOUSE_DATABASE,
};

/** ClickHouse's tables, which get what D1's have. */
const tables = {
	events: `create table if not exists events (team_id Int64, uuid UUID, event String, distinct_id String,
		person_id Nullable(String), properties String, person_properties String, elements_chain String,
		timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC'))
		engine = MergeTree order by (team_id, _inserted_at, uuid)`,
	persons: `create table if not exists persons (team_id Int64, distinct_id String, person_id String, properties String,
		person_version UInt64, created_at DateTime64(6, 'UTC'), _inserted_at DateTime64(6, 'UTC'))
		engine = MergeTree order by (team_id, distinct_id)`,
};

/** Makes the tables, if there is a ClickHouse. */
export async function create() {
	if (noClickHouse) return;
	const client = createClient({ ...access, keep_alive: { enabled: false } });
	for (const query of Object.values(tables)) await client.command({ query });
}

/** Puts a project's events and persons into ClickHouse, too. */
export async function mirror(team_id: number) {
	const client = createClient({
		...access,
		keep_alive: { enabled: false },
		clickhouse_settings: { date_time_input_format: "best_effort" },
	});
	const [seen, known] = await db.batch([
		db.select().from(events).where(eq(events.team_id, team_id)),
		db.select().from(persons).where(eq(persons.team_id, team_id)),
	]);
	await client.insert({ table: "events", values: seen, format: "JSONEachRow" });
	await client.insert({
		table: "persons",
		values: known,
		format: "JSONEachRow",
	});
}
