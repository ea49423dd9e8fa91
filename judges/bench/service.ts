/** Runs a local server with events in D1, to measure exports. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { environment } from "../../build/run.ts";
import { endId, firstId } from "../../src/db/arrival_id.ts";
import { bootstrap, serve } from "../../test/support/serve.ts";
import { freePort } from "../../test/support/server.ts";
import { logCollections } from "./memory.ts";
import { cpuOf } from "./processes.ts";

const HOUR_MS = 3_600_000;

/** The interval of requests for the status of a run. They cost CPU time, too. */
const POLL_MS = 250;

/** An hour and its number of events. `events`: SQL for the events as exports write them. */
export type Window = { rows: number; start_at: string; end_at: string; events: string };

const iso = (column: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`;

const UUID = `lower(${[
	[1, 8],
	[9, 4],
	[13, 4],
	[17, 4],
	[21, 12],
]
	.map(([from, length]) => `substr(hex(uuid), ${from}, ${length})`)
	.join(" || '-' || ")})`;

const eventsSql = (from: number, before: number) =>
	`(select ${UUID} as uuid, event, distinct_id, person_id, properties, person_properties, elements_chain,
		${iso("timestamp")} as timestamp, ${iso("_inserted_at")} as created_at, ${iso("_inserted_at")} as _inserted_at, team_id
		from events where id >= ${firstId(1, from)} and id < ${endId(1, before)} order by id)`;

const Created = z.object({ id: z.string() });
const Runs = z.object({
	results: z.array(
		z.object({
			status: z.string(),
			finished_at: z.string().nullable(),
			records_completed: z.int(),
			latest_error: z.string().nullable(),
		}),
	),
});

/**
 * Fills an hour with events of about 400 bytes. Their properties compress like those of typical
 * events.
 */
function fill(database: DatabaseSync, i: number, rows: number): Window {
	const start = Date.UTC(2026, 0, 1 + i);
	database
		.prepare(
			`insert into events
			with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?2),
				timed as (select i, cast(?3 + i * 3599000 / ?2 as integer) as at from n)
			select ?4 + ((at - ?3) / 60000 << 16) + i % 65536, 1, unhex(printf('%08x000040008000%012x', ?1, i)), 'event ' || (i % 20), 'person ' || (i % 1000), null,
				json_object('$browser', 'Chrome', 'path', '/page/' || (i * 7919 % 5000), 'value', i, 'token', hex(randomblob(40)),
					'text', 'some words that are the same in all, as in most events'),
				null, '', at, at from timed`,
		)
		.run(i, rows, start, BigInt(firstId(1, start)));
	const end = start + HOUR_MS;
	return {
		rows,
		start_at: new Date(start).toISOString(),
		end_at: new Date(end).toISOString(),
		events: eventsSql(start, end),
	};
}

/**
 * Starts a server with two windows of events in D1. It ends with this process.
 * @returns `database` is the path of D1's SQLite file, `state` a folder that is removed at the end,
 * and `collections` the path of V8's log
 */
export async function startService(rows: number, largeRows: number) {
	const state = mkdtempSync(`${tmpdir()}/tenantry-bench-`);
	process.on("exit", () => rmSync(state, { recursive: true, force: true }));
	const { key } = bootstrap(state);
	const folder = `${state}/v3/d1/miniflare-D1DatabaseObject`;
	const file = readdirSync(folder).find((name) => /^\w{64}\.sqlite$/.test(name));
	const database = `${folder}/${file}`;
	const sqlite = new DatabaseSync(database);
	const small = fill(sqlite, 0, rows);
	const large = fill(sqlite, 1, largeRows);
	sqlite.close();

	const { log: collections, variables } = logCollections(state);
	// By default, wrangler records traces of all requests. This costs more than some of the measured
	// operations.
	Object.assign(environment, variables, { X_LOCAL_OBSERVABILITY: "false" });
	const inspector = await freePort();
	const server = await serve({
		...{ name: "tenantry-bench", port: await freePort(), folder: state, state },
		variables: { ALLOW_PRIVATE_DESTINATIONS: "true" },
		// Minified as in a deployment: the script also takes memory.
		more: ["--minify", "--inspector-port", String(inspector)],
	});

	async function request(method: string, path: string, body?: unknown) {
		const response = await fetch(`${server.url}/api/projects/1/batch_exports${path}`, {
			method,
			headers: {
				authorization: `Bearer ${key}`,
				"content-type": "application/json",
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		});
		if (!response.ok) throw new Error(await response.text());
		return response.json();
	}

	/** Returns the CPU time that the server has used so far, in seconds. */
	const cpu = () => cpuOf(({ name, group }) => group === server.pid && name === "workerd");

	/** Exports a window to a new destination, and waits until the run ends. */
	async function runExport(destination: object, window: Window) {
		const { id } = Created.parse(
			await request("POST", "/", {
				name: "bench",
				interval: "hour",
				paused: true,
				destination,
			}),
		);
		const { rows, ...range } = window;
		await request("POST", `/${id}/backfill/`, range);
		for (;;) {
			await sleep(POLL_MS);
			const [latest] = Runs.parse(await request("GET", `/${id}/runs/`)).results;
			if (!latest?.finished_at) continue;
			if (latest.status !== "Completed" || latest.records_completed !== rows)
				throw new Error(JSON.stringify(latest));
			return;
		}
	}

	return { state, database, small, large, inspector, collections, cpu, runExport };
}
