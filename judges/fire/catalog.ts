/**
 * Iceberg's own catalog, behind a proxy that loses responses, and lets somebody else commit just before
 * an export does.
 */
import { mkdirSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { forward } from "../../test/support/faults.ts";
import { EVENT_COLUMNS, icebergs, NAMESPACE, TOKEN } from "../../test/support/iceberg.ts";
import { missing } from "../../test/support/missing.ts";
import { listen } from "../../test/support/peers.ts";
import type { Random } from "../../test/support/random.ts";
import { TABLE } from "./outputs.ts";

/** The shares of responses to reads that are lost, and of commits that somebody else overtakes. */
const LOST_READS = 0.1;
const OVERTAKEN = 0.3;

/** How many responses arrive between two that are lost. A run fails after five failed tries in a row. */
const MIN_ARRIVED = 2;

/**
 * The table, as a customer creates it. An export would partition it by the day of `timestamp`, but
 * some events are of any day within a century, so each run would write thousands of files.
 */
const NEW_TABLE = {
	name: TABLE,
	schema: {
		type: "struct",
		fields: Object.entries(EVENT_COLUMNS).map(([name, type], i) => ({
			...{ id: i + 1, name, type, required: false },
		})),
	},
	"partition-spec": {
		"spec-id": 0,
		fields: [{ name: "uuid_bucket", transform: "bucket[4]", "source-id": 1, "field-id": 1000 }],
	},
	properties: { "format-version": "2" },
};

async function send(url: string, body: object) {
	const response = await fetch(url, {
		method: "POST",
		headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
		body: JSON.stringify(body),
	});
	if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
}

/**
 * Starts the catalog with the table of the export.
 * @throws if Java, Maven or Python are missing
 */
export async function startCatalog(s3: string, random: Random) {
	const { ICEBERG_URL: origin } = await icebergs(s3);
	const readers = `${origin}/readers`;
	const headers = { authorization: `Bearer ${TOKEN}` };
	const problem =
		(await missing("Iceberg's catalog", `${origin}/v1/config`, { headers })) ||
		(await missing("Iceberg's readers", readers));
	if (problem) throw new Error(`npm run fire needs Iceberg's catalog and readers${problem}`);
	await send(`${origin}/v1/namespaces/${NAMESPACE}/tables`, NEW_TABLE);
	const table = `${NAMESPACE}.${TABLE}`;
	const counts = { requests: 0, lost: 0, commits: 0, overtaken: 0, conflicts: 0 };
	let arrived = 0;

	async function answer(request: IncomingMessage, response: ServerResponse) {
		const body = await buffer(request);
		const isCommit = request.method === "POST" && request.url?.endsWith(`/tables/${TABLE}`);
		const isOvertaken = isCommit && random.chance(OVERTAKEN);
		counts.requests += 1;
		if (isCommit) counts.commits += 1;
		// There are few commits: every second response to one is lost, from the first on.
		const isDue = isCommit ? counts.commits % 2 === 1 : random.chance(LOST_READS);
		const isLost = arrived >= MIN_ARRIVED && isDue;
		arrived = isLost ? 0 : arrived + 1;
		if (isOvertaken) {
			counts.overtaken += 1;
			await send(readers, { do: "touch", table });
		}
		const upstream = await forward(origin, request, body);
		if (isCommit && upstream.statusCode === 409) counts.conflicts += 1;
		const text = await buffer(upstream);
		if (isLost) counts.lost += 1;
		if (isLost) response.destroy();
		else response.writeHead(upstream.statusCode ?? 500, upstream.headers).end(text);
	}

	const proxy = createServer((request, response) => {
		// The request breaks off if the server is killed while it sends it.
		answer(request, response).catch(() => response.destroy());
	});
	return {
		url: `http://127.0.0.1:${await listen(proxy)}`,
		counts,
		/** Saves the rows that a reader finds as Parquet. */
		async save(reader: "pyiceberg" | "duckdb", folder: string) {
			mkdirSync(folder, { recursive: true });
			const sql = `copy t to '${folder}/events.parquet' (format parquet)`;
			await send(readers, { do: reader, table, sql });
		},
	};
}
