/** The examples of events and exports. */

import { HOUR_MS } from "../../src/lib/time.ts";
import type { Recorder } from "./recorder.ts";

/** Returns the start of an hour, `n` hours before the current one. */
function hoursAgo(n: number) {
	const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
	return new Date(hour - n * HOUR_MS).toISOString();
}

export async function events({ record, refuse }: Recorder) {
	const event = (i: number, name: string, hours: number, properties: object) => ({
		uuid: `00000000-0000-4000-8000-00000000000${i}`,
		event: name,
		distinct_id: "visitor-42",
		properties,
		timestamp: hoursAgo(hours),
	});
	await record("ingestEvents", {
		body: [
			event(1, "page viewed", 1.75, { path: "/pricing", $browser: "Firefox" }),
			event(2, "plan chosen", 1.5, { plan: "team", seats: 12 }),
			{ ...event(3, "signed up", 0.5, {}), person_properties: { plan: "team" } },
		],
	});
	await refuse("ingestEvents", 400, { body: [{ distinct_id: "visitor-42" }] });
}

const S3 = {
	type: "S3",
	config: {
		bucket_name: "analytics-exports",
		region: "eu-central-1",
		prefix: "events/",
		file_format: "Parquet",
		compression: "zstd",
		aws_access_key_id: "AKIAIOSFODNN7EXAMPLE",
		aws_secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	},
};
const R2 = { type: "R2", config: { prefix: "events/", compression: "gzip" } };

/**
 * @param kind the word in operation ids: exports are below their organization and below their
 * project
 * @param peer the URL of HTTP destinations: it never responds at /slow, and rejects all at /gone
 */
export async function exports(recorder: Recorder, kind: "" | "Project", peer: string) {
	const { record, refuse } = recorder;
	const name = `${kind}BatchExport`;
	const { id } = await record(`create${name}`, {
		body: { name: "Events to our bucket", destination: S3, interval: "hour", model: "events" },
	});
	await refuse(`create${name}`, 400, {
		body: { name: "Events", destination: { type: "FTP", config: {} }, interval: "hour" },
	});
	const parameters = { id: String(id) };
	await record(`get${name}`, { parameters });
	await record(`update${name}`, {
		parameters,
		body: {
			interval: "day",
			destination: { config: { prefix: "daily/" } },
			xql_query: "SELECT event, distinct_id, timestamp FROM events WHERE event = 'signed up'",
		},
	});
	await record(`pause${name}`, { parameters, body: {} });
	await record(`unpause${name}`, { parameters, body: { backfill: false } });
	await record(`testNew${name}`, { body: { destination: R2, model: "events" } });
	await runs(recorder, name);
	await cancellations(recorder, name, `${peer}/slow`);
	await failures(recorder, name, `${peer}/gone`);
	const copy = await record(`duplicate${name}`, {
		parameters,
		body: { name: "Events to Dublin", destination: { config: { region: "eu-west-1" } } },
	});
	await record(`list${name}s`);
	await record(`handOver${name}`, { parameters, body: { to: String(copy.id) } });
	await record(`delete${name}`, { parameters: { id: String(copy.id) } });
	await record(`delete${name}`, { parameters });
}

/** Records successful runs of two hours, to R2. */
async function runs(recorder: Recorder, name: string) {
	const { record, refuse, waitFor } = recorder;
	// An export never replaces the files of another one.
	const prefix = name.startsWith("Project") ? "website/" : "events/";
	const destination = { ...R2, config: { ...R2.config, prefix } };
	const { id } = await record(`create${name}`, {
		body: { name: "Events to R2", destination, interval: "hour" },
	});
	const parameters = { id: String(id) };
	await record(`test${name}`, { parameters, body: {} });
	await refuse(`backfill${name}`, 400, {
		parameters,
		body: { start_at: hoursAgo(0), end_at: hoursAgo(2) },
	});
	await record(`backfill${name}`, {
		parameters,
		body: { start_at: hoursAgo(2), end_at: hoursAgo(0) },
	});
	const ended = (count: number) => (answer: Awaited<ReturnType<typeof waitFor>>) =>
		answer.results?.length === count && answer.results.every((run) => run.finished_at);
	const { results } = await waitFor(`list${name}Runs`, { parameters }, ended(2));
	await record(`list${name}Runs`, { parameters: { ...parameters, status: "Completed" } });
	const run = { ...parameters, run_id: String(results?.[0]?.id) };
	await record(`get${name}Run`, { parameters: run });
	await record(`list${name}RunLogs`, { parameters: { ...run, level: "INFO" } });
	const files = await record(`list${name}RunFiles`, { parameters: run });
	const file = { ...run, name: String(files.results?.[0]?.name) };
	await record(`download${name}RunFile`, { parameters: file });
	const headers = { range: "bytes=1000000-" };
	await refuse(`download${name}RunFile`, 416, { parameters: file, headers });
	await once(recorder, name);
	await record(`list${name}Logs`, { parameters: { ...parameters, limit: 3 } });
	await record(`list${name}Backfills`, { parameters });
	await record(`list${name}Metrics`, { parameters });
	await record(`get${name}Totals`);
	await record(`list${name}Ranges`, { parameters });
	await record(`retry${name}Run`, { parameters: run, body: { from: "start" } });
	await waitFor(`list${name}Runs`, { parameters }, ended(2));
	await refuse(`cancel${name}Run`, 400, { parameters: run });
	await record(`delete${name}`, { parameters });
}

/** Records a one-off export. */
async function once({ record, refuse }: Recorder, name: string) {
	const { batch_export } = await record(`run${name}Once`, {
		body: { start_at: hoursAgo(2), end_at: hoursAgo(0), file_format: "CSV" },
	});
	await refuse(`run${name}Once`, 400, { body: { start_at: hoursAgo(0), end_at: hoursAgo(2) } });
	await record(`delete${name}`, { parameters: { id: String(batch_export) } });
}

/** Records a run and a backfill that are cancelled while they wait for the destination. */
async function cancellations({ record, refuse, waitFor }: Recorder, name: string, url: string) {
	const { id } = await record(`create${name}`, {
		body: {
			name: "Events to a webhook",
			destination: { type: "HTTP", config: { url } },
			interval: "hour",
		},
	});
	const parameters = { id: String(id) };
	const backfill = async (hours: number) =>
		record(`backfill${name}`, {
			parameters,
			body: { start_at: hoursAgo(hours), end_at: hoursAgo(1) },
		});
	const first = await backfill(2);
	await refuse(`backfill${name}`, 409, {
		parameters,
		body: { start_at: hoursAgo(2), end_at: hoursAgo(1) },
	});
	const { results } = await waitFor(
		`list${name}Runs`,
		{ parameters },
		({ results }) => results?.some((run) => run.status === "Running") === true,
	);
	await record(`cancel${name}Run`, {
		parameters: { ...parameters, run_id: String(results?.[0]?.id) },
	});
	const second = await backfill(3);
	const backfilled = {
		...parameters,
		backfill_id: String(second.backfill_id ?? first.backfill_id),
	};
	await record(`get${name}Backfill`, { parameters: backfilled });
	await record(`cancel${name}Backfill`, { parameters: backfilled });
	await record(`delete${name}`, { parameters });
}

/** Records what people decide about a run that has failed. */
async function failures({ record, waitFor }: Recorder, name: string, url: string) {
	const { id } = await record(`create${name}`, {
		body: {
			name: "Events to an old receiver",
			destination: { type: "HTTP", config: { url } },
			interval: "hour",
		},
	});
	const parameters = { id: String(id) };
	const failed = () =>
		waitFor(
			`list${name}Runs`,
			{ parameters },
			({ results }) => results?.length === 1 && results.every((run) => run.finished_at),
		);
	await record(`backfill${name}`, {
		parameters,
		body: { start_at: hoursAgo(2), end_at: hoursAgo(1) },
	});
	await failed();
	await record("getAttention");
	await record(`retry${name}`, { parameters, body: { after: hoursAgo(2) } });
	await failed();
	await record(`dismiss${name}`, { parameters, body: { after: hoursAgo(2) } });
	await record(`delete${name}`, { parameters });
	await record(`restore${name}`, { parameters: { deleted_id: String(id) }, body: {} });
	await record(`delete${name}`, { parameters });
}
