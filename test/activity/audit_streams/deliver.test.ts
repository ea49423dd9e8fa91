import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { genesis } from "../../../src/activity/audit_streams/chain.ts";
import { deliverDue } from "../../../src/activity/audit_streams/deliver.ts";
import { enqueueDueStreams as schedule } from "../../../src/activity/audit_streams/schedule.ts";
import { countStatements } from "../../../src/db/count_statements.ts";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { auditStreams } from "../../../src/db/schema/audit_streams.ts";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/users.ts";
import worker from "../../../src/worker.ts";
import { entries as logOf, RETOTAL } from "../../support/activity.ts";
import { KEYS } from "../../support/bucket.ts";
import { askS3, listS3 } from "../../support/exporting.ts";
import { digests, outbox } from "../../support/mail.ts";
import { eventually, stopPerformanceClock, withoutPatience } from "../../support/time.ts";
import { db, join, world } from "../../support/world.ts";

/** Delivers the streams that are due at a time. */
const deliver = (on: Env, at: number) => deliverDue(on, { audit_streams: at });

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const iso = (at: number) => new Date(at).toISOString();

/** The next full hour: what a test has done before is delivered. */
const hour = Math.ceil(Date.now() / HOUR) * HOUR;

/** After the pauses of all streams. */
const LATE = hour + 10 * 60_000;

const s3 = (more: object = {}) => ({
	type: "S3",
	config: {
		bucket_name: "exports",
		region: "auto",
		prefix: "audit",
		endpoint_url: env.S3_URL,
		...KEYS,
		...more,
	},
});

const at = (path: string) => s3({ endpoint_url: `${env.RECEIVER_URL}${path}` });

// However long a delivery takes, it ends in one invocation.
beforeEach(stopPerformanceClock);

type Row = Partial<typeof auditStreams.$inferInsert>;

/**
 * An organization with a stream. Other tests' streams are paused, so that ticks deliver only this
 * one.
 * @param entries how many entries its log has besides
 */
async function streaming(
	destination: object = { type: "R2", config: { prefix: "" } },
	entries = 0,
) {
	await db.update(auditStreams).set({ next_attempt_at: null });
	const home = await world();
	await fill(home.id, entries);
	const { body } = await home.here("POST", "/audit_streams", {
		body: { name: "Archive", destination },
	});
	const path = `/audit_streams/${body.id}`;
	const its = eq(auditStreams.id, body.id);
	return {
		...home,
		stream: String(body.id),
		show: async () => (await home.here("GET", path)).body,
		change: async (row: Row) => db.update(auditStreams).set(row).where(its),
		patch: (body: object) => home.here("PATCH", path, { body }),
		files: () => filesOf(`audit/${home.id}/${body.id}/`),
		row: async () => (await db.select().from(auditStreams).where(its))[0],
	};
}

/** Writes entries into an organization's log. */
async function fill(organization_id: string, entries: number, created_at = iso(hour - HOUR)) {
	for (let done = 0; done < entries; done += 5000)
		await db.run(sql`insert into activity_log (organization_id, activity, scope, item_id, name, changes, created_at)
			select ${organizationId(organization_id)}, 'updated', 'Project', value, 'Projekt ü ' || value,
				'[{"field":"name","action":"changed","before":"a","after":"\u2028"}]', ${Date.parse(created_at)}
			from (with recursive n(value) as (values(${done}) union all select value + 1 from n where value + 1 < ${Math.min(done + 5000, entries)}) select value from n)`);
	await db.run(RETOTAL);
}

/** The content of a compressed file. */
async function unpacked(file = new ArrayBuffer(0)) {
	const stream = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
	const text = await new Response(stream).text();
	return { bytes: new Uint8Array(file).toBase64(), text, lines: text.trimEnd().split("\n") };
}

/** The files below a folder of the worker's bucket: their keys and lines. */
async function filesOf(prefix: string) {
	const { objects } = await env.EXPORTS.list({ prefix });
	return Promise.all(
		objects.map(async ({ key, etag, uploaded }) => {
			const object = await env.EXPORTS.get(key);
			return { key, etag, uploaded, ...(await unpacked(await object?.arrayBuffer())) };
		}),
	);
}

// biome-ignore lint/suspicious/noExplicitAny: lines have two forms
const parsed = (lines: string[]): any[] => lines.map((line) => JSON.parse(line));

/** What a command returned. */
type Result = { code: number; out: string };

/** `python` is null where there is no Python. */
type Verified = Result & { python: Result | null };

/** What `npm run admin -- audit verify` and the documentation's Python say about files. */
async function verified(files: { key: string; bytes: string }[], words: string[] = []) {
	const response = await fetch(`${env.RECEIVER_URL}/audit`, {
		method: "POST",
		body: JSON.stringify({ files: files.map(({ key, bytes }) => ({ key, bytes })), words }),
	});
	if (!response.ok) throw new Error(await response.text());
	return response.json<Verified>();
}

describe("an hourly delivery", () => {
	test("writes the hour's entries as the feed has them, in order, into one file", async () => {
		const { stream, id, here, owner, show, files } = await streaming();
		await here("PATCH", "", { body: { name: "Renamed" } });
		await deliver(env, LATE);
		const [file, ...others] = await files();
		expect(others).toEqual([]);
		const [header, ...entries] = parsed(file?.lines ?? []);
		const log = await logOf(eq(activityLog.organization_id, organizationId(id)));
		expect(header).toMatchObject({
			format: "tenantry-audit/1",
			stream,
			organization: id,
			sequence: 1,
			first: 1,
			last: log.length,
			count: log.length,
			missing: 0,
			previous: genesis(stream),
		});
		expect(entries.map((entry) => [entry.number, entry.id, entry.created_at])).toEqual(
			log.map((row, i) => [i + 1, row.id, row.created_at]),
		);
		expect(entries.at(-1)).toMatchObject({
			type: "organization.updated",
			actor: { type: "user", uuid: owner.uuid },
			data: { scope: "Organization", changes: [{ field: "name", after: "Renamed" }] },
		});
		const first = new Date(String(log[0]?.created_at));
		const day = first.toISOString().slice(0, 10).replaceAll("-", "/");
		const time = first.toISOString().slice(0, 19).replace(/[-:]/g, "");
		expect(file?.key).toBe(`audit/${id}/${stream}/${day}/0000000001-${time}Z.ndjson.gz`);
		expect(await show()).toMatchObject({
			sequence: 1,
			digest: entries.at(-1)?.digest,
			last_file: file?.key,
			last_delivered_at: expect.any(String),
			delivered_until: iso(hour),
			delivered_events: log.length,
			latest_error: null,
		});
		expect(Date.parse((await show()).next_attempt_at)).toBeGreaterThanOrEqual(hour + HOUR);
	});

	test("goes on with the next hour where it stopped, and writes nothing for an hour without entries", async () => {
		const { stream, id, files, show, row } = await streaming();
		await deliver(env, LATE);
		await deliver(env, LATE);
		await deliver(env, LATE + HOUR);
		expect(await files()).toHaveLength(1);
		expect(await show()).toMatchObject({ delivered_until: iso(hour + HOUR) });
		await fill(id, 3, iso(hour + HOUR + 5));
		// The hour of these entries isn't over.
		await deliver(env, LATE + HOUR + 1);
		expect(await files()).toHaveLength(1);
		await deliver(env, LATE + 2 * HOUR);
		const [one, two, ...others] = await files();
		expect(others).toEqual([]);
		const before = parsed(one?.lines ?? []).at(-1);
		expect(parsed(two?.lines ?? [])[0]).toMatchObject({
			stream,
			sequence: 2,
			first: before.number + 1,
			last: before.number + 3,
			previous: before.digest,
		});
		expect(await row()).toMatchObject({ delivered_events: before.number + 3, sequence: 2 });
	});

	test("waits half a minute after the hour for what is committed late", async () => {
		const { files, change } = await streaming();
		await change({ next_attempt_at: iso(hour) });
		await deliver(env, hour + 29_999);
		expect(await files()).toEqual([]);
		await change({ next_attempt_at: iso(hour) });
		await deliver(env, hour + 30_000);
		expect(await files()).toHaveLength(1);
	});

	test("an entry that is written while its hour ends is in the next file, and none is left out", async () => {
		const { id, files } = await streaming();
		await fill(id, 1, iso(hour - 5));
		await fill(id, 1, iso(hour + 5));
		await fill(id, 1, iso(hour - 5));
		await deliver(env, LATE);
		const [one] = await files();
		const delivered = parsed(one?.lines ?? []).length;
		await deliver(env, LATE + HOUR);
		const [, two] = await files();
		expect(parsed(two?.lines ?? [])[0]).toMatchObject({ first: delivered, count: 2 });
	});

	test("has what happens in private projects, and events of the system", async () => {
		const { id, here, files } = await streaming();
		const { body } = await here("POST", "/projects", { body: { name: "Secret" } });
		await here("PATCH", `/projects/${body.id}`, { body: { access_control: true } });
		await db.insert(activityLog).values({
			organization_id: organizationId(id),
			is_system: true,
			activity: "failed",
			scope: "BatchExportRun",
			item_id: "1",
		});
		await deliver(env, LATE);
		const [file] = await files();
		const types = parsed(file?.lines ?? []).map(({ type }) => type);
		expect(types.slice(-3)).toEqual([
			"project.created",
			"project.updated",
			"batch_export_run.failed",
		]);
	});

	test("a new stream begins with all that is kept, or with its own creation", async () => {
		const { id, here, files } = await streaming(undefined, 10);
		const { body } = await here("POST", "/audit_streams", {
			body: { name: "New", destination: { type: "R2", config: { prefix: "new" } }, from: "now" },
		});
		await deliver(env, LATE);
		expect((await files())[0]?.lines.length).toBeGreaterThan(11);
		const [file] = await filesOf(`audit/${id}/new/${body.id}/`);
		expect(parsed(file?.lines ?? []).slice(1)).toMatchObject([
			{ number: 1, type: "audit_stream.created", data: { item_id: body.id } },
		]);
	});

	test("runs with the schedule", async () => {
		const { files, change } = await streaming();
		await change({ next_attempt_at: iso(Date.now() - 1) });
		await fill((await world()).id, 1);
		await worker.scheduled(
			createScheduledController({ cron: "* * * * *", scheduledTime: new Date(LATE) }),
			env,
		);
		await eventually(async () => expect(await files()).toHaveLength(1));
	});

	test("sends a message only where a stream is due", async () => {
		await streaming();
		const sent: unknown[] = [];
		const DELIVERIES: Queue = Object.assign(Object.create(env.DELIVERIES), {
			send: async (body: unknown) => sent.push(body),
		});
		const bound = { ...env, DELIVERIES };
		await schedule(bound, LATE);
		expect(sent).toEqual([{ audit_streams: LATE }]);
		await deliverDue(env, sent[0]);
		await schedule(bound, LATE);
		expect(sent).toHaveLength(1);
	});

	test("hands over to another invocation when its time is up, until 45 seconds after the tick", async () => {
		const { files } = await streaming();
		const sent: unknown[] = [];
		const DELIVERIES: Queue = Object.assign(Object.create(env.DELIVERIES), {
			send: async (body: unknown) => sent.push(body),
		});
		/** Delivers with a clock that is past the invocation's time at the second look. */
		const deliverLate = async (at: number) => {
			const clock = vi.mocked(performance.now).mockReturnValue(10_001).mockReturnValueOnce(0);
			await deliver({ ...env, DELIVERIES }, at);
			clock.mockReturnValue(0);
		};
		await deliverLate(LATE);
		expect([await files(), sent]).toEqual([[], [{ audit_streams: LATE }]]);
		await deliverLate(Date.now() - 45_000);
		expect(sent).toHaveLength(1);
		await deliver({ ...env, DELIVERIES }, LATE);
		expect([(await files()).length, sent.length]).toEqual([1, 1]);
	});

	test("costs one index look-up where nothing is due", async () => {
		await streaming();
		await deliver(env, LATE);
		let rows = 0;
		const DB = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => {
				const statement = env.DB.prepare(query);
				const bind = statement.bind.bind(statement);
				return Object.assign(statement, {
					bind: (...values: unknown[]) => {
						const bound = bind(...values);
						const raw = bound.raw.bind(bound);
						return Object.assign(bound, {
							raw: async (options?: { columnNames?: false }) => {
								const { meta } = await env.DB.prepare(query)
									.bind(...values)
									.all();
								rows += meta.rows_read;
								return raw(options);
							},
						});
					},
				});
			},
		});
		await deliver({ ...env, DB }, LATE);
		expect(rows).toBeLessThanOrEqual(1);
	});
});

test("25,000 entries are three files in an S3 bucket, which two verifiers accept", async () => {
	const prefix = crypto.randomUUID();
	const { stream, show } = await streaming(s3({ prefix }), 25_000);
	await deliver(env, LATE);
	const { sequence, digest, delivered_events, last_file } = await show();
	expect(sequence).toBe(3);
	expect(delivered_events).toBeGreaterThanOrEqual(25_001);
	const keys = (await listS3(`${prefix}/`)).sort();
	expect(keys.at(-1)).toBe(last_file);
	const files = await Promise.all(
		keys.map(async (key) => {
			const response = await askS3("GET", `/${key}`);
			expect(response.headers.get("x-amz-meta-tenantry-export")).toBe(stream);
			return { key, ...(await unpacked(await response.arrayBuffer())) };
		}),
	);
	expect(files.map(({ lines }) => lines.length - 1)).toEqual([
		10_000,
		10_000,
		delivered_events - 20_000,
	]);
	const { code, out, python } = await verified(files, ["--head", digest]);
	expect({ code, ...JSON.parse(out) }).toEqual({
		code: 0,
		ok: true,
		streams: [{ stream, files: 3, entries: delivered_events, sequence: 3, digest, missing: 0 }],
		problems: [],
		more_problems: 0,
	});
	if (python) expect(python).toMatchObject({ code: 0, out: `${digest}\n` });
});

test("a file ends before it has more than about 8 MB of text, and large entries are read in small pages", async () => {
	const { id, files, show } = await streaming();
	const source = "x".repeat(1_000_000);
	for (let i = 0; i < 12; i++)
		await db.insert(activityLog).values({
			organization_id: organizationId(id),
			activity: "updated",
			scope: "Plugin",
			item_id: String(i),
			changes: [{ field: "index.js", action: "changed", before: null, after: source }],
		});
	await deliver(env, LATE);
	const sizes = (await files()).map(({ text }) => text.length);
	expect(sizes).toHaveLength(2);
	for (const size of sizes) expect(size).toBeLessThan(8_100_000);
	expect((await show()).latest_error).toBeNull();
});

/**
 * An environment whose next write to the stream's row after `after` others fails, as if the isolate
 * was killed.
 */
const killed = (matches: (query: string) => boolean): Env => {
	let isKilled = false;
	const prepare = (query: string) => {
		if (matches(query)) isKilled = true;
		if (isKilled) throw new Error("killed");
		return env.DB.prepare(query);
	};
	return {
		...env,
		DB: Object.assign(Object.create(env.DB), {
			prepare,
			batch: (statements: D1PreparedStatement[]) => {
				if (isKilled) throw new Error("killed");
				return env.DB.batch(statements);
			},
		}),
	};
};

const quietly = () => {
	const { error } = console;
	console.error = () => {};
	onTestFinished(() => {
		console.error = error;
	});
};

describe("a tick that is killed", () => {
	/** Kills before the row takes note of the file. */
	const recording = (query: string) =>
		query.startsWith('update "audit_streams"') && query.includes('"delivered_events" = ');

	test("after it has written a file doesn't write it again, whatever happened to its users", async () => {
		quietly();
		const { owner, files, show, row } = await streaming(undefined, 20);
		await deliver(killed(recording), LATE);
		const [before, ...others] = await files();
		expect(others).toEqual([]);
		expect(await show()).toMatchObject({ sequence: 0, last_file: null });
		expect(await row()).toMatchObject({ file: { sequence: 1 } });
		// Nobody else claims the stream for some minutes.
		await deliver(env, LATE + 60_000);
		expect(await show()).toMatchObject({ sequence: 0 });
		await db.update(users).set({ first_name: "Renamed" }).where(eq(users.id, owner.id));
		await deliver(env, LATE + 15 * 60_000);
		expect((await files()).map(({ etag, uploaded }) => [etag, uploaded])).toEqual([
			[before?.etag, before?.uploaded],
		]);
		expect(await show()).toMatchObject({
			sequence: 1,
			delivered_events: 21,
			last_file: before?.key,
		});
	});

	test("before it has written the file writes the same bytes again, with the users as they were", async () => {
		quietly();
		const { id, owner, files, show } = await streaming(undefined, 20);
		const lost: Uint8Array[] = [];
		const EXPORTS = Object.assign(Object.create(env.EXPORTS), {
			head: (key: string) => env.EXPORTS.head(key),
			put: async (_: string, body: Uint8Array) => {
				lost.push(body.slice());
				throw new Error("The connection was lost.");
			},
		});
		await deliver({ ...env, EXPORTS }, LATE);
		expect(await files()).toEqual([]);
		expect((await show()).latest_error).toBe("The connection was lost.");
		await db.update(users).set({ first_name: "Renamed" }).where(eq(users.id, owner.id));
		await fill(id, 5);
		await deliver(env, LATE + 60_000);
		const [one, two] = await files();
		const object = await env.EXPORTS.get(one?.key ?? "");
		expect(new Uint8Array((await object?.arrayBuffer()) ?? [])).toEqual(lost[0]);
		// What came in the meantime is in a file of its own.
		expect(two?.lines).toHaveLength(6);
	});

	test("leaves a file that a new version of the service writes in another form, which counts", async () => {
		const { files, show, change, row } = await streaming(at("/status/503"), 5);
		await deliver(env, LATE);
		const { file } = (await row()) ?? {};
		if (!file) throw new Error("Nothing is planned.");
		await change({
			destination: { type: "R2", config: { prefix: "" } },
			file: { ...file, digest: "0".repeat(64) },
		});
		await deliver(env, LATE + HOUR);
		const all = await files();
		expect(all.length).toBeGreaterThan(0);
		const { code } = await verified(all, ["--head", (await show()).digest]);
		expect(code).toBe(0);
	});

	test("leaves a file whose entries are deleted meanwhile, which is planned anew", async () => {
		const { id, files, show, change } = await streaming(at("/status/503"), 5);
		await deliver(env, LATE);
		await db
			.delete(activityLog)
			.where(
				sql`organization_id = ${organizationId(id)} and activity = 'updated' and item_id < '3'`,
			);
		await change({ destination: { type: "R2", config: { prefix: "" } } });
		await deliver(env, LATE + HOUR);
		const all = await files();
		expect(all.map(({ text }) => text.match(/Projekt/g)?.length)).toEqual([2]);
		const { code } = await verified(all, ["--head", (await show()).digest]);
		expect(code).toBe(0);
	});

	test("anywhere, again and again, leaves a chain without a gap", async () => {
		quietly();
		const { id, files, show, change } = await streaming(undefined, 50);
		let n = 0;
		for (let killAt = 1; killAt <= 12; killAt++) {
			n = 0;
			await deliver(
				killed(() => ++n === killAt),
				LATE + killAt * HOUR,
			).catch(() => {});
			await fill(id, 3, iso(hour + killAt * HOUR - HOUR));
			await change({ lease_expires_at: null, next_attempt_at: iso(hour) });
		}
		await deliver(env, LATE + 24 * HOUR);
		const all = await files();
		const { digest, delivered_events } = await show();
		const { code, out, python } = await verified(all, ["--head", digest]);
		expect({ code, out: JSON.parse(out).problems }).toEqual({ code: 0, out: [] });
		if (python) expect(python).toMatchObject({ code: 0, out: `${digest}\n` });
		const ids = all.flatMap(({ lines }) => parsed(lines.slice(1)).map((entry) => entry.id));
		const log = await logOf(eq(activityLog.organization_id, organizationId(id)));
		expect(ids).toEqual(log.map((row) => row.id));
		expect(delivered_events).toBe(ids.length);
	});
});

test("ticks at the same time write each file once", async () => {
	let puts = 0;
	const EXPORTS = Object.assign(Object.create(env.EXPORTS), {
		head: (key: string) => env.EXPORTS.head(key),
		put: (...args: Parameters<R2Bucket["put"]>) => {
			puts += 1;
			return env.EXPORTS.put(...args);
		},
	});
	const { files, show } = await streaming(undefined, 12_000);
	await Promise.all(Array.from({ length: 5 }, () => deliver({ ...env, EXPORTS }, LATE)));
	expect(await files()).toHaveLength(2);
	expect(puts).toBe(2);
	expect((await show()).sequence).toBe(2);
});

test("an attempt that was superseded doesn't write to the row", async () => {
	const { patch, show, row } = await streaming();
	const EXPORTS = Object.assign(Object.create(env.EXPORTS), {
		head: (key: string) => env.EXPORTS.head(key),
		put: async (...args: Parameters<R2Bucket["put"]>) => {
			await patch({ enabled: false });
			return env.EXPORTS.put(...args);
		},
	});
	await deliver({ ...env, EXPORTS }, LATE);
	expect(await show()).toMatchObject({ enabled: false, next_attempt_at: null, sequence: 0 });
	await patch({ enabled: true });
	await deliver(env, LATE);
	expect(await row()).toMatchObject({ sequence: expect.any(Number), file: null });
	expect((await show()).sequence).toBeGreaterThanOrEqual(1);
});

test("after the database was restored, a file that the stream had written before is not replaced", async () => {
	const { id, files, show, change } = await streaming();
	await fill(id, 3);
	await deliver(env, LATE);
	const [before] = await files();
	await db
		.delete(activityLog)
		.where(sql`organization_id = ${organizationId(id)} and item_id = '2'`);
	await change({
		...{ position: 0, sequence: 0, digest: "", delivered_events: 0, last_file: null },
		next_attempt_at: iso(hour),
	});
	for (const later of [0, 2 * HOUR]) {
		await deliver(env, LATE + later);
		expect(await show()).toMatchObject({
			sequence: 0,
			latest_error: `This stream has already written another file to ${before?.key}. It was not replaced. If the database was restored from a backup, create a new stream.`,
		});
	}
	expect((await files()).map(({ key, etag }) => [key, etag])).toEqual([
		[before?.key, before?.etag],
	]);
});

test("an object that another wrote is not replaced", async () => {
	const { show, patch, stream } = await streaming();
	let taken = "";
	const EXPORTS = Object.assign(Object.create(env.EXPORTS), {
		put: env.EXPORTS.put.bind(env.EXPORTS),
		head: async (key: string) => {
			taken ||= key;
			if (taken === key) await env.EXPORTS.put(key, "mine");
			return env.EXPORTS.head(key);
		},
	});
	await deliver({ ...env, EXPORTS }, LATE);
	expect(await show()).toMatchObject({
		sequence: 0,
		latest_error: `There is an object at ${taken} that isn't from this stream. It was not replaced. Move it, or change the prefix.`,
	});
	expect(await (await env.EXPORTS.get(taken))?.text()).toBe("mine");
	await patch({ destination: { config: { prefix: "elsewhere" } } });
	await deliver(env, LATE + 2 * HOUR);
	expect(await show()).toMatchObject({
		latest_error: null,
		last_file: expect.stringContaining(`/elsewhere/${stream}/`),
	});
});

describe("a bucket that fails", () => {
	test("with 503 is tried again after growing pauses, and Retry-After is followed", async () => {
		const { show, row, patch } = await streaming(at("/status/503"));
		const waits: number[] = [];
		let now = LATE;
		for (let i = 0; i < 8; i++) {
			await deliver(env, now);
			const next = Date.parse((await show()).next_attempt_at);
			waits.push((next - now) / 60_000);
			now = next;
		}
		expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
		expect((await show()).latest_error).toBe(`${new URL(env.RECEIVER_URL).host} answered 503.`);
		expect(await row()).toMatchObject({ attempts: 8, file: { sequence: 1 } });
		await patch({ destination: at("/status/503/1200") });
		await deliver(env, now + 1);
		expect(Date.parse((await show()).next_attempt_at) - now - 1).toBe(20 * 60_000);
	});

	test("that works again gets everything, in order", async () => {
		const { id, show, patch } = await streaming(at("/status/503"), 5);
		await deliver(env, LATE);
		await fill(id, 5, iso(hour + 1));
		await patch({ destination: { config: s3({ prefix: id }).config } });
		await deliver(env, LATE + HOUR);
		expect(await show()).toMatchObject({ latest_error: null, sequence: 2 });
	});

	test.each([
		[
			"a wrong secret",
			s3({ aws_secret_access_key: "wrong" }),
			"The secret of the access key is wrong.",
		],
		["no such bucket", s3({ bucket_name: "nowhere" }), "There is no such bucket."],
		["an object at every key", at("/anything"), "There is an object at "],
		["a redirect", at("/redirect/302"), "The bucket is at another address"],
	])(
		"a lasting failure (%s) is shown, mailed to the admins once a day, and tried again",
		async (_, destination, words) => {
			const { organization_id, id, owner, show, patch, stream } = await streaming(destination);
			await join(id, 1);
			const own = outbox();
			const mails: Awaited<ReturnType<typeof digests>>[] = [];
			for (const at of [LATE, LATE + HOUR, LATE + 25 * HOUR, LATE + 26 * HOUR]) {
				await deliver({ ...env, ...own.env }, at);
				mails.push(await digests({ id }, at));
			}
			expect(own.sent).toEqual([]);
			expect((await show()).latest_error).toContain(words);
			expect(mails.map((each) => each.map(({ to }) => to))).toEqual([
				[owner.email],
				[],
				[owner.email],
				[],
			]);
			const mail = mails[0]?.[0];
			expect(mail?.subject).toBe("1 audit stream fails in Acme");
			expect(mail?.text).toContain(`– Archive: ${words}`);
			expect(mail?.text).toContain(
				`\n${env.APP_URL}/api/organizations/${id}/audit_streams/${stream}\n`,
			);
			const events = await db
				.select()
				.from(activityLog)
				.where(sql`item_id = ${stream} and is_system`);
			expect(events).toHaveLength(2);
			expect(events[0]).toMatchObject({
				organization_id,
				scope: "AuditStream",
				activity: "failed",
				trigger: { error: expect.stringContaining(words) },
			});
			await patch({ destination: { config: s3({ prefix: id }).config } });
			await deliver(env, LATE + 26 * HOUR);
			expect(await show()).toMatchObject({ latest_error: null, sequence: 2 });
		},
	);

	test("takes no more statements than a tick expects, with the largest entries that a file can have", async () => {
		const { id, row, change } = await streaming(at("/status/503"));
		await db.delete(activityLog).where(eq(activityLog.organization_id, organizationId(id)));
		// As many pages as a file can have: no two entries fit into one.
		for (let i = 0; i < 15; i += 1)
			await db.run(sql`insert into activity_log (organization_id, activity, scope, item_id, name, changes, created_at)
				values (${organizationId(id)}, 'updated', 'Project', ${i}, 'Large',
					json_array(json_object('field', 'name', 'action', 'changed', 'before', '', 'after', hex(zeroblob(${i % 2 === 0 ? 60_000 : 445_000})))),
					${hour - HOUR})`);
		await change({ failing_since: iso(hour - DAY), last_notified_at: null });
		const { DB, statements } = countStatements(env.DB);
		await deliver({ ...env, DB }, LATE);
		expect(await row()).toMatchObject({ attempts: 1, file: { count: 15 } });
		// Of the 26 that src/activity/audit_streams/deliver.ts expects at most, it lacks two, since no
		// file is recorded; one is the tick's.
		expect(statements()).toBe(25);
	});

	test("a temporary failure that lasts for hours is mailed to the admins", async () => {
		const home = await streaming(at("/status/503"));
		for (let h = 0; h < 6; h++) await deliver(env, LATE + h * HOUR);
		expect(await digests(home, LATE + 5 * HOUR)).toEqual([]);
		await deliver(env, LATE + 6 * HOUR);
		expect(await digests(home, LATE + 6 * HOUR)).toHaveLength(1);
	});

	test("is mailed to whom the organization has set", async () => {
		const { id, here } = await streaming(at("/redirect/302"));
		const { uuid, email } = await join(id, 1);
		const subscriptions = [{ type: "audit_stream.failed", recipients: [uuid] }];
		await here("PATCH", "/notifications", { body: { subscriptions } });
		await deliver(env, LATE);
		expect((await digests({ id }, LATE)).map(({ to }) => to)).toEqual([email]);
	});

	test("by being silent delays no other stream", async () => {
		const { stream } = await streaming(at("/hang"));
		const others = [await world(), await world()];
		for (const { here } of others)
			await here("POST", "/audit_streams", {
				body: { name: "Other", destination: { type: "R2", config: { prefix: "" } } },
			});
		const delivered = async () =>
			(
				await db
					.select()
					.from(auditStreams)
					.where(sql`sequence = 1 and name = 'Other' and next_attempt_at is not null`)
			).length;
		let free = () => {};
		const othersAreDone = new Promise<void>((resolve) => {
			free = resolve;
		});
		const ticking = withoutPatience(() => deliver(env, LATE), othersAreDone);
		await expect.poll(delivered).toBe(2);
		free();
		await ticking;
		const [row] = await db.select().from(auditStreams).where(eq(auditStreams.id, stream));
		expect(row).toMatchObject({
			sequence: 0,
			latest_error: expect.stringContaining("did not answer"),
		});
	});

	test("leads to no private address", async () => {
		const { show } = await streaming(s3());
		await deliver({ ...env, ALLOW_PRIVATE_DESTINATIONS: "false" }, LATE);
		expect(await show()).toMatchObject({
			sequence: 0,
			latest_error: expect.stringContaining("is a private address"),
		});
	});
});

describe("retention", () => {
	const tick = () => worker.scheduled(createScheduledController({ cron: "* * * * *" }), env);
	const ago = (days: number) => iso(Date.now() - days * DAY);
	const left = async (id: string) =>
		(
			await db
				.select()
				.from(activityLog)
				.where(
					sql`organization_id = ${organizationId(id)} and item_id <> ${id} and scope = 'Project'`,
				)
		).length;

	/**
	 * Replaces all entries by old ones of these organizations, and a new one, as times are in the
	 * order of positions.
	 */
	const age = async (days: number, n: number, ...organizations: string[]) => {
		await db.delete(activityLog);
		for (const id of organizations) await fill(id, n, ago(days));
		await fill("another", 1, ago(0));
	};

	test("keeps entries that an enabled stream hasn't delivered for 30 days more, and no others", async () => {
		const { id, change, show, files } = await streaming();
		await change({ next_attempt_at: "9999-01-01T00:00:00.000Z" });
		const other = await world();
		await age(370, 4, id, other.id);
		await tick();
		expect([await left(id), await left(other.id)]).toEqual([4, 0]);
		expect((await show()).missing_events).toBe(0);
		await change({ next_attempt_at: iso(hour) });
		await deliver(env, LATE);
		expect((await files())[0]?.text.match(/Projekt/g)).toHaveLength(4);
		await tick();
		expect(await left(id)).toBe(0);
		expect((await show()).missing_events).toBe(0);
	});

	test("what is deleted undelivered is counted, in the stream and in its next file", async () => {
		const { id, change, show, files } = await streaming();
		await change({ next_attempt_at: "9999-01-01T00:00:00.000Z" });
		await age(396, 4, id);
		await tick();
		expect((await show()).missing_events).toBe(4);
		await change({ enabled: false });
		await age(366, 2, id);
		await tick();
		expect((await show()).missing_events).toBe(6);
		await fill(id, 1);
		await change({ enabled: true, next_attempt_at: iso(hour) });
		await deliver(env, LATE);
		const all = await files();
		expect(parsed(all[0]?.lines ?? [])[0]).toMatchObject({ missing: 6 });
		const { out } = await verified(all);
		expect(JSON.parse(out)).toMatchObject({ ok: true, streams: [{ missing: 6 }] });
	});
});

describe("an organization that is deleted", () => {
	test("has all of its log delivered, with its deletion, and then its stream is deleted", async () => {
		const { id, ask, files, row } = await streaming();
		expect((await ask("DELETE", `/api/organizations/${id}`)).status).toBe(204);
		await deliver(env, Date.now() + 60_000);
		const [file] = await files();
		expect(parsed(file?.lines ?? []).at(-1)).toMatchObject({ type: "organization.deleted" });
		expect(await row()).toBeUndefined();
	});

	test("leaves no paused stream, and none that fails for longer than seven days", async () => {
		const paused = await streaming();
		await paused.patch({ enabled: false });
		await db.delete(organizations).where(eq(organizations.uuid, paused.id));
		expect(await paused.row()).toBeUndefined();
		const failing = await streaming(at("/status/503"));
		await db.delete(organizations).where(eq(organizations.uuid, failing.id));
		await deliver(env, Date.now() + 60_000);
		expect(await failing.row()).toBeDefined();
		await deliver(env, Date.now() + 8 * DAY);
		expect(await failing.row()).toBeUndefined();
	});
});
