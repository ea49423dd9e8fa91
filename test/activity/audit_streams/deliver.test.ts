import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { deleteExpired } from "../../../src/activity/activity_log/retention.ts";
import { genesis } from "../../../src/activity/audit_streams/chain.ts";
import { enqueueDueStreams as schedule } from "../../../src/activity/audit_streams/deliver.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { auditStreams } from "../../../src/db/schema/audit_streams.ts";
import { organizationId, organizations } from "../../../src/db/schema/organizations.ts";
import { users } from "../../../src/db/schema/people.ts";
import { purgeDeleted } from "../../../src/deletions/purge.ts";
import worker from "../../../src/worker.ts";
import { entries as logOf } from "../../support/activity.ts";
import { metered } from "../../support/events.ts";
import { askS3, listS3 } from "../../support/exporting.ts";
import { digests, outbox } from "../../support/mail.ts";
import { systemEvents } from "../../support/system_events.ts";
import { eventually, stopPerformanceClock, withoutPatience } from "../../support/time.ts";
import { keeping } from "../../support/webhooks.ts";
import { db, join, world } from "../../support/world.ts";
import {
	at,
	chained,
	DAY,
	deliver,
	filesOf,
	fill,
	HOUR,
	hour,
	iso,
	killed,
	LATE,
	parsed,
	partsOf,
	quietly,
	s3,
	streaming,
	unpacked,
} from "./support.ts";

// However long a delivery takes, it ends in one invocation.
beforeEach(stopPerformanceClock);

describe("an hourly delivery", () => {
	test("writes the hour's entries as the feed has them, in order, into one file", async () => {
		const { stream, id, here, owner, show, files } = await streaming();
		await here("PATCH", "", { body: { name: "Renamed" } });
		await deliver(env, LATE);
		const [file, ...others] = await files();
		expect(others).toEqual([]);
		const { header, entries, last } = partsOf(file);
		const log = (await logOf(eq(activityLog.organization_id, organizationId(id)))).slice(0, -1);
		expect(header).toMatchObject({
			format: "tenantry-audit/2",
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
			digest: last.digest,
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
		// The head of the first file.
		await deliver(env, LATE + HOUR);
		for (const hours of [2, 3]) await deliver(env, LATE + hours * HOUR);
		expect(await files()).toHaveLength(2);
		expect(await show()).toMatchObject({ delivered_until: iso(hour + 3 * HOUR) });
		await fill(id, 3, iso(hour + 3 * HOUR + 5));
		// The hour of these entries isn't over.
		await deliver(env, LATE + 3 * HOUR + 1);
		expect(await files()).toHaveLength(2);
		await deliver(env, LATE + 4 * HOUR);
		const [, two, three, ...others] = await files();
		expect(others).toEqual([]);
		const { entries, last } = partsOf(two);
		const { number } = entries.at(-1);
		expect(partsOf(three).header).toMatchObject({
			stream,
			sequence: 3,
			first: number + 1,
			last: number + 3,
			previous: last.digest,
		});
		expect(await row()).toMatchObject({ delivered_events: number + 3, sequence: 3 });
	});

	test("tells the head of each file with an event, but not of one that has only such events", async () => {
		const { stream, id, here, files, show } = await streaming();
		const other = await here("POST", "/audit_streams", {
			body: { name: "Other", destination: { type: "R2", config: { prefix: "other" } } },
		});
		for (const hours of [0, 1, 2, 3, 4]) await deliver(env, LATE + hours * HOUR);
		const others = await filesOf(`audit/${id}/other/${other.body.id}/`);
		const written = [await files(), others];
		expect(written.map(({ length }) => length)).toEqual([2, 2]);
		const told = (file: (typeof others)[number] | undefined) =>
			partsOf(file).entries.filter(({ type }) => type === "audit_stream.delivered");
		expect(written.map(([one]) => told(one))).toEqual([[], []]);
		for (const [, two] of written) {
			expect(told(two)).toHaveLength(2);
			expect(partsOf(two).entries).toHaveLength(2);
		}
		const [first] = written[0] ?? [];
		const event = told(others[1]).find(({ data }) => data.item_id === stream);
		const { header, last } = partsOf(first);
		expect(event).toMatchObject({
			actor: { type: "system" },
			data: {
				scope: "AuditStream",
				name: "Archive",
				trigger: {
					file: first?.key,
					sequence: 1,
					first: 1,
					last: header.last,
					digest: last.digest,
					signature: last.signature,
				},
			},
		});
		expect(await show()).toMatchObject({ sequence: 2, delivered_until: iso(hour + 4 * HOUR) });
	});

	test("is not signed without SECRETS_KEY, which its event says", async () => {
		const { id, files, show } = await streaming();
		await deliver({ ...env, SECRETS_KEY: "" }, LATE);
		const [file] = await files();
		const [header, ...entries] = parsed(file?.lines ?? []);
		expect(header.count).toBe(entries.length);
		expect((await show()).digest).toBe(entries.at(-1).digest);
		expect(await systemEvents(id)).toMatchObject([
			{ type: "audit_stream.delivered", trigger: { signature: null, sequence: 1 } },
		]);
	});

	test("waits half a minute after the hour for what is committed late", async () => {
		const { id, files, change } = await streaming();
		await deliver(env, LATE - HOUR);
		await fill(id, 1, iso(hour - 5));
		await change({ next_attempt_at: iso(hour) });
		await deliver(env, hour + 29_999);
		expect(await files()).toHaveLength(1);
		await change({ next_attempt_at: iso(hour) });
		await deliver(env, hour + 30_000);
		expect(await files()).toHaveLength(2);
	});

	test("an entry that is written while its hour ends is in the next file, and none is left out", async () => {
		const { id, files } = await streaming();
		await fill(id, 1, iso(hour - 5));
		await fill(id, 1, iso(hour + 5));
		await fill(id, 1, iso(hour - 5));
		await deliver(env, LATE);
		const [one] = await files();
		const { header } = partsOf(one);
		await deliver(env, LATE + HOUR);
		const [, two] = await files();
		// With the head of the first file.
		expect(partsOf(two).header).toMatchObject({ first: header.last + 1, count: 3 });
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
		const types = partsOf(file).entries.map(({ type }) => type);
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
		expect(partsOf(file).entries).toMatchObject([
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
		const { sent, queue: DELIVERIES } = keeping();
		const bound = { ...env, DELIVERIES };
		await schedule(bound, LATE);
		expect(sent).toEqual([{ body: { audit_streams: LATE } }]);
		await deliver(env, LATE);
		await schedule(bound, LATE);
		expect(sent).toHaveLength(1);
	});

	test("hands over to another invocation when its time is up, until 45 seconds after the tick", async () => {
		const { files } = await streaming();
		const { sent, queue: DELIVERIES } = keeping();
		/** Delivers with a clock that is past the invocation's time at the second look. */
		const deliverLate = async (at: number) => {
			const clock = vi.mocked(performance.now).mockReturnValue(10_001).mockReturnValueOnce(0);
			await deliver({ ...env, DELIVERIES }, at);
			clock.mockReturnValue(0);
		};
		await deliverLate(LATE);
		expect([await files(), sent]).toEqual([[], [{ body: { audit_streams: LATE } }]]);
		await deliverLate(Date.now() - 45_000);
		expect(sent).toHaveLength(1);
		await deliver({ ...env, DELIVERIES }, LATE);
		expect([(await files()).length, sent.length]).toEqual([1, 1]);
	});

	test("costs one index look-up where nothing is due", async () => {
		await streaming();
		await deliver(env, LATE);
		const { spent, db: DB } = metered();
		await deliver({ ...env, DB }, LATE);
		expect(spent.read).toBeLessThanOrEqual(1);
	});
});

test("entries are written to an S3 bucket, with the stream's id, in a chain of their digests", async () => {
	const prefix = crypto.randomUUID();
	const { id, stream, show } = await streaming(s3({ prefix }), 30);
	await deliver(env, LATE);
	await fill(id, 3, iso(hour + 5));
	await deliver(env, LATE + HOUR);
	const { digest, last_file, delivered_events } = await show();
	const keys = (await listS3(`${prefix}/`)).sort();
	expect([keys.length, keys.at(-1)]).toEqual([2, last_file]);
	const files = await Promise.all(
		keys.map(async (key) => {
			const response = await askS3("GET", `/${key}`);
			expect(response.headers.get("x-amz-meta-tenantry-export")).toBe(stream);
			return unpacked(await response.arrayBuffer());
		}),
	);
	const log = (await logOf(eq(activityLog.organization_id, organizationId(id)))).slice(0, -1);
	expect(await chained(stream, files, digest)).toEqual(log.map((row) => row.id));
	expect(delivered_events).toBe(log.length);
});

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
		expect(partsOf(two).entries).toHaveLength(5);
	});

	test("leaves a file that a new version of the service writes in another form, which counts", async () => {
		const { stream, files, show, change, row } = await streaming(at("/status/503"), 5);
		await deliver(env, LATE);
		const { file } = (await row()) ?? {};
		if (!file) throw new Error("Nothing is planned.");
		await change({
			destination: { type: "R2", config: { prefix: "" } },
			file: { ...file, digest: "0".repeat(64) },
		});
		await deliver(env, LATE + HOUR);
		expect(await chained(stream, await files(), (await show()).digest)).toHaveLength(6);
	});

	test("leaves a file whose entries are deleted meanwhile, which is planned anew", async () => {
		const { id, stream, files, show, change } = await streaming(at("/status/503"), 5);
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
		expect(await chained(stream, all, (await show()).digest)).toHaveLength(3);
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
	const { files, show } = await streaming(undefined, 20);
	await Promise.all(Array.from({ length: 3 }, () => deliver({ ...env, EXPORTS }, LATE)));
	expect(await files()).toHaveLength(1);
	expect([puts, (await show()).sequence]).toEqual([1, 1]);
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
		const { show, row, change, patch } = await streaming(at("/status/503"));
		/** The minutes until the attempt after this many failed ones and another. */
		const pauseAfter = async (attempts: number) => {
			await change({ attempts, next_attempt_at: iso(LATE) });
			await deliver(env, LATE);
			return (Date.parse((await show()).next_attempt_at) - LATE) / 60_000;
		};
		const pauses = [];
		for (let failed = 0; failed < 8; failed++) pauses.push(await pauseAfter(failed));
		expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
		expect((await show()).latest_error).toBe(`${new URL(env.RECEIVER_URL).host} answered 503.`);
		expect(await row()).toMatchObject({ attempts: 8, file: { sequence: 1 } });
		await patch({ destination: at("/status/503/1200") });
		expect(await pauseAfter(0)).toBe(20);
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
		["a secret", s3({ aws_secret_access_key: "wrong" }), "The secret of the access key is wrong."],
		["a bucket", s3({ bucket_name: "nowhere" }), "There is no such bucket."],
		["a key that is free", at("/anything"), "There is an object at "],
		["an address", at("/redirect/302"), "The bucket is at another address"],
	])("for want of %s is tried again every hour", async (_, destination, words) => {
		const { show } = await streaming(destination);
		await deliver(env, LATE);
		const next_attempt_at = iso(LATE + HOUR);
		expect(await show()).toMatchObject({
			latest_error: expect.stringContaining(words),
			next_attempt_at,
		});
	});

	test("lastingly is mailed to the admins once a day, until it works", async () => {
		const destination = at("/redirect/302");
		const { organization_id, id, owner, show, patch, stream } = await streaming(destination);
		await join(id, 1);
		const own = outbox();
		const mails: Awaited<ReturnType<typeof digests>>[] = [];
		for (const at of [LATE, LATE + HOUR, LATE + 25 * HOUR, LATE + 26 * HOUR]) {
			await deliver({ ...env, ...own.env }, at);
			mails.push(await digests({ id }, at));
		}
		expect(own.sent).toEqual([]);
		const recipients = mails.map((each) => each.map(({ to }) => to));
		expect(recipients).toEqual([[owner.email], [], [owner.email], []]);
		const [mail] = mails.flat();
		expect(mail?.subject).toBe("1 audit stream fails in Acme");
		expect(mail?.text).toMatch(/^Archive – .*\nThe bucket is at another address/m);
		expect(mail?.text).toContain(
			`\nSee the stream: ${env.APP_URL}/console/${id}/audit_streams/${stream}\n`,
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
			trigger: { error: expect.stringContaining("The bucket is at another address") },
		});
		await patch({ destination: { config: s3({ prefix: id }).config } });
		await deliver(env, LATE + 26 * HOUR);
		expect(await show()).toMatchObject({ latest_error: null, sequence: 2 });
	});

	test("temporarily for six hours is mailed to the admins", async () => {
		const home = await streaming(at("/status/503"));
		await deliver(env, LATE);
		await deliver(env, LATE + 6 * HOUR - 1);
		expect(await digests(home, LATE + 6 * HOUR - 1)).toEqual([]);
		await home.change({ next_attempt_at: iso(LATE) });
		await deliver(env, LATE + 6 * HOUR);
		expect(await digests(home, LATE + 6 * HOUR)).toHaveLength(1);
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
	const tick = () => deleteExpired(env);
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
	});
});

describe("an organization that is deleted", () => {
	test("has all of its log delivered, with its deletion, and then its stream waits until it is removed for good", async () => {
		const { id, ask, files, row } = await streaming();
		expect((await ask("DELETE", `/api/organizations/${id}`)).status).toBe(204);
		await deliver(env, Date.now() + 60_000);
		const [file] = await files();
		expect(partsOf(file).entries.at(-1)).toMatchObject({ type: "organization.deleted" });
		expect(await row()).toMatchObject({ next_attempt_at: null, lease_expires_at: null });
		await purgeDeleted(env, Date.now() + 31 * DAY);
		expect(await row()).toBeUndefined();
	});

	test("delivers nothing to a paused stream, and leaves none that fails for longer than seven days", async () => {
		const paused = await streaming();
		await paused.patch({ enabled: false });
		await paused.ask("DELETE", `/api/organizations/${paused.id}`);
		expect(await paused.row()).toMatchObject({ next_attempt_at: null });
		const failing = await streaming(at("/status/503"));
		await db.delete(organizations).where(eq(organizations.uuid, failing.id));
		await deliver(env, Date.now() + 60_000);
		expect(await failing.row()).toBeDefined();
		await deliver(env, Date.now() + 8 * DAY);
		expect(await failing.row()).toBeUndefined();
	});
});
