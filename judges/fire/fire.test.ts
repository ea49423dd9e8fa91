import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, onTestFinished, test } from "vitest";
import { seeded } from "../../test/support/random.ts";
import { discard, folder } from "../../test/support/server.ts";
import { type Event, eventOf } from "./events.ts";
import { isFaultless, judge } from "./judge.ts";
import { startReceiver } from "./receiver.ts";

const random = seeded(1);

const event = (i: number): Event => ({
	...eventOf(random),
	uuid: `00000000-0000-4000-8000-00000000000${i}`,
	person_id: `00000000-0000-5000-8000-00000000000${i}`,
	properties: `{"n":9007199254740993,"d":1.10,"i":${i},"text":"登 \\" 🎉"}`,
	person_properties: i === 1 ? '{"e":1e300}' : null,
});

/** An event as an export writes it. */
const line = ({
	uuid,
	event,
	distinct_id,
	person_id,
	properties,
	person_properties,
	elements_chain,
	timestamp,
}: Event) =>
	`${JSON.stringify({ uuid, event, distinct_id, person_id }).slice(0, -1)},"properties":${properties},"person_properties":${person_properties},${JSON.stringify({ elements_chain, timestamp }).slice(1)}\n`;

const lines = (events: Event[]) => events.map(line).join("");

/** Three events, two of which were acknowledged, and a folder in which they were sent. */
function evidence() {
	const path = folder();
	onTestFinished(() => discard(path));
	const events: [Event, Event, Event] = [event(0), event(1), event(2)];
	const save = (name: string, content: string | Uint8Array) => {
		mkdirSync(dirname(`${path}/${name}`), { recursive: true });
		writeFileSync(`${path}/${name}`, content);
	};
	const json = (values: object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
	save("sent.jsonl", json([{ ...events[0], person_id: null }, ...events.slice(1)]));
	save("acknowledged.jsonl", json(events.slice(0, 2).map(({ uuid }) => ({ uuid }))));
	const verdictOf = async (name: string) => (await judge(path, [name])).get(name);
	return { path, events, save, verdictOf };
}

const FAULTLESS = { missing: 0, repeated: 0, changed: 0, unknown: 0 };

test("an output that holds each acknowledged event once is faultless, whether or not it has the others", async () => {
	const { events, save, verdictOf } = evidence();
	const [first, second] = events;
	save("outputs/all/1/events.jsonl.gz", gzipSync(lines(events)));
	save("outputs/some/0.jsonl", line(first));
	save("outputs/some/1.jsonl", line(second));
	expect(await verdictOf("all")).toEqual({ rows: 3, ...FAULTLESS });
	expect(await verdictOf("some")).toEqual({ rows: 2, ...FAULTLESS });
});

test("Parquet files are read, too", async () => {
	const { path, events, save, verdictOf } = evidence();
	save("outputs/parquet/none.txt", "");
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	await connection.run(`copy (select * replace (timestamp::timestamptz as timestamp, coalesce(person_id, 'derived') as person_id)
		from read_json('${path}/sent.jsonl', format = 'newline_delimited',
			columns = {uuid: 'VARCHAR', event: 'VARCHAR', distinct_id: 'VARCHAR', person_id: 'VARCHAR', properties: 'VARCHAR',
				person_properties: 'VARCHAR', elements_chain: 'VARCHAR', timestamp: 'VARCHAR'}))
		to '${path}/outputs/parquet/events.parquet'`);
	connection.closeSync();
	instance.closeSync();
	expect(await verdictOf("parquet")).toEqual({
		rows: events.length,
		...FAULTLESS,
	});
});

test("an event that is missing, repeated, changed or unknown is counted", async () => {
	const { events, save, verdictOf } = evidence();
	const [first, second, third] = events;
	const expected = { ...FAULTLESS, rows: 2 };
	save("outputs/empty/none.txt", "");
	expect(await verdictOf("empty")).toEqual({
		...expected,
		rows: 0,
		missing: 2,
	});
	save("outputs/missing/a.jsonl", lines([first, third]));
	expect(await verdictOf("missing")).toEqual({ ...expected, missing: 1 });
	save("outputs/repeated/a.jsonl", lines([first, second]));
	save("outputs/repeated/b.jsonl", line(first));
	expect(await verdictOf("repeated")).toEqual({
		...expected,
		rows: 3,
		repeated: 1,
	});
	const stranger = { ...first, uuid: "00000000-0000-4000-8000-00000000000f" };
	save("outputs/unknown/a.jsonl", lines([first, second, stranger]));
	expect(await verdictOf("unknown")).toEqual({
		...expected,
		rows: 3,
		unknown: 1,
	});
	const changes: Partial<Event>[] = [
		{ properties: first.properties.replace("740993", "740992") },
		{ properties: first.properties.replace("1.10", "1.1") },
		{ person_properties: "{}" },
		{ event: "other" },
		{ person_id: null },
		{ timestamp: "2000-01-01T00:00:00.000Z" },
	];
	for (const change of changes) {
		save("outputs/changed/a.jsonl", lines([{ ...first, ...change }, second]));
		const verdict = await verdictOf("changed");
		expect(verdict).toEqual({ ...expected, changed: 1 });
		expect(verdict && isFaultless(verdict)).toBe(false);
	}
});

test("a manifest has to name the files that are there", async () => {
	const { events, save, verdictOf } = evidence();
	save("outputs/files/w-0.jsonl", lines(events));
	const manifest = (files: string[]) =>
		save("outputs/files/w_manifest.json", JSON.stringify({ files }));
	manifest(["files/w-0.jsonl"]);
	expect(await verdictOf("files")).toEqual({ rows: 3, ...FAULTLESS });
	manifest(["files/w-0.jsonl", "files/w-1.jsonl"]);
	await expect(verdictOf("files")).rejects.toThrow("don't name its files");
});

test("the receiver takes a key once, fails a fifth of the posts, and none three times in a row", async () => {
	const path = folder();
	onTestFinished(() => discard(path));
	const { url, counts } = await startReceiver(path, {
		...seeded(3),
		// Silence is as good as a closed connection here.
		pick: (values) => values[2] ?? values[0],
	});
	const post = (key: string, body: object) =>
		fetch(url, {
			method: "POST",
			headers: { "idempotency-key": key },
			body: JSON.stringify(body),
		}).then(
			({ ok }) => ok,
			() => false,
		);
	for (let i = 0; i < 300; i += 1) {
		let tries = 1;
		while (!(await post(`${i}`, { batch: [{ i }] }))) tries += 1;
		expect(tries).toBeLessThanOrEqual(3);
	}
	const failed = Object.values(counts.failed).reduce((sum, n) => sum + n, 0);
	expect(failed / counts.posts).toBeGreaterThan(0.15);
	expect(failed / counts.posts).toBeLessThan(0.25);
	expect(counts.repeated).toBeGreaterThan(0);
	expect(counts.conflicts).toBe(0);
	while (!(await post("0", { batch: [{ i: "other" }] })));
	expect(counts.conflicts).toBeGreaterThan(0);
});
