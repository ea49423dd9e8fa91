import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { countStatements } from "../../../src/db/client.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { entries as logOf, RETOTAL } from "../../support/activity.ts";
import { askS3, listS3 } from "../../support/exporting.ts";
import { stopPerformanceClock } from "../../support/time.ts";
import { db } from "../../support/world.ts";
import {
	at,
	DAY,
	deliver,
	fill,
	HOUR,
	hour,
	iso,
	killed,
	LATE,
	parsed,
	quietly,
	s3,
	streaming,
	unpacked,
} from "./support.ts";

beforeEach(stopPerformanceClock);

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

test("25,000 entries are four files in an S3 bucket, which two verifiers accept", async () => {
	const prefix = crypto.randomUUID();
	const { stream, show } = await streaming(s3({ prefix }), 25_000);
	await deliver(env, LATE);
	const { sequence, digest, delivered_events, last_file } = await show();
	expect(sequence).toBe(4);
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
	const entries = files.flatMap(({ lines }) => parsed(lines).filter(({ number }) => number));
	expect(entries).toHaveLength(delivered_events);
	const { code, out, python } = await verified(files, ["--head", digest]);
	expect({ code, ...JSON.parse(out) }).toMatchObject({
		code: 0,
		ok: true,
		streams: [{ stream, files: 4, entries: delivered_events, sequence: 4, digest, missing: 0 }],
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

test("a tick that is killed anywhere, again and again, leaves a chain without a gap", async () => {
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
	const entries = all.flatMap(({ lines }) => parsed(lines).filter(({ number }) => number));
	const ids = entries.map((entry) => entry.id);
	const log = await logOf(eq(activityLog.organization_id, organizationId(id)));
	expect(ids).toEqual(log.slice(0, ids.length).map((row) => row.id));
	// The events of the last files are for the next one.
	const later = log.slice(ids.length).map(({ activity }) => activity);
	expect(later).toEqual(later.map(() => "delivered"));
	expect(delivered_events).toBe(ids.length);
});
test("a delivery takes no more statements than a tick expects, with the largest entries that a file can have", async () => {
	// The first event in an isolate prepares one more.
	await streaming(at("/redirect/302"));
	await deliver(env, LATE);
	const { id, row, change } = await streaming(at("/status/503"));
	await db.delete(activityLog).where(eq(activityLog.organization_id, organizationId(id)));
	// As many pages as a file can have: no two entries fit into one.
	for (let i = 0; i < 15; i += 1)
		await db.run(sql`insert into activity_log (organization_id, activity, scope, item_id, name, changes, created_at)
			values (${organizationId(id)}, 'updated', 'Project', ${i}, 'Large',
				json_array(json_object('field', 'name', 'action', 'changed', 'before', '', 'after', hex(zeroblob(${i % 2 === 0 ? 60_000 : 445_000})))),
				${hour - HOUR})`);
	await db.run(RETOTAL);
	await change({ failing_since: iso(hour - DAY), last_notified_at: null });
	const { DB, statements } = countStatements(env.DB);
	await deliver({ ...env, DB }, LATE);
	expect(await row()).toMatchObject({ attempts: 1, file: { count: 15 } });
	// Of the 32 that src/activity/audit_streams/deliver.ts expects at most, it lacks five, since no
	// file is recorded, the end of the turn, and what a server has accepted; one is the tick's.
	expect(statements()).toBe(26);
});
