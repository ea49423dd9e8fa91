import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { entries as logOf } from "../../support/activity.ts";
import * as azure from "../../support/azure.ts";
import { ACCOUNT } from "../../support/azurite.ts";
import { KEYS } from "../../support/bucket.ts";
import { listS3 } from "../../support/exporting.ts";
import { stopPerformanceClock, withoutPatience } from "../../support/time.ts";
import { db } from "../../support/world.ts";
import { problemsOf } from "./ocsf.ts";
import { describeServers } from "./sink_cases.ts";
import { rangesOf, SERVERS, serverOf } from "./sinks.ts";
import { deliver, fill, HOUR, iso, killed, LATE, parsed, quietly, streaming } from "./support.ts";

beforeEach(stopPerformanceClock);

const GCS_CONFIG = {
	bucket_name: "exports",
	endpoint_url: env.GCS_URL,
	hmac_access_id: KEYS.aws_access_key_id,
	hmac_secret: KEYS.aws_secret_access_key,
};

const AZURE_CONFIG = {
	...ACCOUNT,
	container_name: azure.CONTAINER,
	endpoint_url: env.AZURE_URL,
};

describeServers(["SplunkHEC", "Datadog", "Sentinel"]);

test("the requests to an HTTPS endpoint are, one after the other, a file", async () => {
	const { destination, accepted } = serverOf("HTTP", SERVERS.HTTP);
	const { stream } = await streaming(destination, 2500);
	await deliver(env, LATE);
	const requests = await accepted();
	const lines = requests.flatMap(({ items }) => items);
	const all = parsed(lines.flatMap((item: string) => item.split("\n")));
	const [header, ...others] = all;
	// The signed head is the last line.
	const entries = others.slice(0, -1);
	expect(requests.length).toBe(3);
	expect(header).toMatchObject({ stream, first: 1, count: entries.length });
	expect(others.at(-1)).toHaveProperty("signature");
	expect(others.map(({ previous }) => previous)).toEqual(
		all.slice(0, -1).map(({ digest }) => digest),
	);
});

test("a tick that is killed between requests sends what it hasn't recorded again, with the same positions", async () => {
	quietly();
	const { destination, accepted } = serverOf("Sentinel", SERVERS.Sentinel);
	const { change, show } = await streaming(destination, 10);
	await deliver(
		killed((query) => /set .*"last_file" = /.test(query)),
		LATE,
	).catch(() => {});
	await change({ lease_expires_at: null });
	await deliver(env, LATE + HOUR);
	const ranges = rangesOf(await accepted());
	expect(ranges).toEqual([ranges[0], ranges[0]]);
	expect(await show()).toMatchObject({ sequence: 1, latest_error: null });
});

test.each(["Datadog", "HTTP"] as const)(
	"%s that is slow is left after the turn's time, and gets the rest in the next one",
	async (type) => {
		const { destination, accepted } = serverOf(type, SERVERS[type]);
		const { show } = await streaming(destination, 2500);
		// Each request takes longer than an invocation has. No message starts another one.
		let now = 0;
		const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 6000));
		onTestFinished(() => clock.mockRestore());
		const quiet = { ...env, DELIVERIES: Object.assign(Object.create(null), { send: () => {} }) };
		await deliver(quiet, LATE);
		expect(rangesOf(await accepted())).toEqual(["1-1000"]);
		expect(await show()).toMatchObject({ sequence: 0, latest_error: null });
		for (let turns = 1; turns < 4; turns++) await deliver(quiet, LATE + turns * HOUR);
		// The next file has the event of this one.
		const [one, two, three] = rangesOf(await accepted());
		expect([one, two, three]).toEqual(["1-1000", "1001-2000", "2001-2501"]);
		expect((await show()).sequence).toBeGreaterThan(0);
	},
);

test("a server that is silent, or closes the connection, is tried again", async () => {
	const { destination, plan, accepted } = serverOf("SplunkHEC", SERVERS.SplunkHEC);
	const { show, patch } = await streaming(
		{ ...destination, config: { ...destination.config, url: `${env.RECEIVER_URL}/hang` } },
		3,
	);
	await withoutPatience(() => deliver(env, LATE));
	expect((await show()).latest_error).toContain("did not answer");
	await plan("close");
	await patch({ destination });
	await deliver(env, LATE + HOUR);
	expect((await show()).latest_error).toContain("was closed before the response was complete");
	await deliver(env, LATE + 2 * HOUR);
	const { latest_error, delivered_events } = await show();
	expect(latest_error).toBeNull();
	const items = (await accepted()).flatMap((request) => request.items);
	expect(items).toHaveLength(delivered_events);
});

test("a tick that is killed anywhere, again and again, leaves out nothing, and repeats only positions", async () => {
	quietly();
	const { destination, events } = serverOf("Datadog", SERVERS.Datadog);
	const { id, change, show } = await streaming(destination, 50);
	for (let killAt = 1; killAt <= 12; killAt++) {
		let n = 0;
		await deliver(
			killed(() => ++n === killAt),
			LATE + killAt * HOUR,
		).catch(() => {});
		await fill(id, 3, iso(LATE + killAt * HOUR - HOUR));
		await change({ lease_expires_at: null, next_attempt_at: iso(LATE) });
	}
	await deliver(env, LATE + 24 * HOUR);
	const log = await logOf(eq(activityLog.organization_id, organizationId(id)));
	const byNumber = new Map<number, string>();
	for (const { number, id } of await events()) {
		expect(byNumber.get(number) ?? id).toBe(id);
		byNumber.set(number, id);
	}
	const delivered = log.slice(0, byNumber.size);
	expect([...byNumber].sort(([a], [b]) => a - b)).toEqual(
		delivered.map((row, i) => [i + 1, row.id]),
	);
	expect((await show()).delivered_events).toBe(delivered.length);
	// The events of the last files are for the next one.
	const later = log.slice(delivered.length).map(({ activity }) => activity);
	expect(later).toEqual(later.map(() => "delivered"));
});

test.each([
	["Datadog", 1_000_000],
	["SplunkHEC", 1_000_000],
	["Sentinel", 64_000],
] as const)(
	"an entry that is too large for %s is cut, says so, and stops nothing",
	async (type, max) => {
		for (const format of ["Tenantry", "OCSF"]) {
			const { destination, accepted, events } = serverOf(type, SERVERS[type], { format });
			const { id, show } = await streaming(destination);
			await db.insert(activityLog).values({
				organization_id: organizationId(id),
				activity: "source_updated",
				scope: "Plugin",
				item_id: "7",
				name: "Large",
				changes: [
					{ field: "index.js", action: "changed", before: null, after: 'ü\u0000"'.repeat(150_000) },
					...Array.from({ length: 300 }, (_, i) => ({
						field: `field_${i}`,
						action: "changed" as const,
						before: { deep: { deeper: ["x".repeat(2000)] } },
						after: 2 ** 53,
					})),
				],
			});
			await deliver(env, LATE);
			expect(await show()).toMatchObject({ sequence: 1, latest_error: null });
			const large = (await events()).find(
				(event) => (event.type ?? event.metadata.event_code) === "plugin.source_updated",
			);
			const data = large.data ?? large.unmapped;
			expect(data.truncated).toBe(true);
			expect(data.changes[0]).toMatchObject({ field: "index.js", before: null });
			expect(data.changes[0].after).toMatch(/…$/);
			expect(JSON.stringify(large).length).toBeLessThan(max);
			if (format === "OCSF") expect(problemsOf(large)).toEqual([]);
			for (const { bytes } of await accepted()) expect(bytes).toBeLessThan(5_000_000);
		}
	},
);

test("an HTTPS endpoint gets a large entry whole, in a request of its own", async () => {
	const { destination, accepted } = serverOf("HTTP", SERVERS.HTTP);
	const { id } = await streaming(destination, 5);
	await db.insert(activityLog).values({
		organization_id: organizationId(id),
		activity: "source_updated",
		scope: "Plugin",
		item_id: "7",
		changes: [{ field: "index.js", action: "changed", before: "", after: "x".repeat(1_500_000) }],
	});
	await fill(id, 5);
	await deliver(env, LATE);
	const requests = await accepted();
	const large = requests.find(({ bytes }) => bytes > 1_000_000);
	expect(large?.items).toHaveLength(1);
	expect(requests.length).toBe(3);
});

describe("Splunk", () => {
	test.each([
		[{ index: "other" }, "", "The token isn't allowed to write to this index"],
		[{}, "ack", "The token requires acknowledgments: turn on use_ack."],
		[{ use_ack: true }, "", "The token has no acknowledgments"],
	])("%j at a token of another kind (%s) is explained", async (more, name, words) => {
		const { destination } = serverOf("SplunkHEC", SERVERS.SplunkHEC, more, name);
		const { show } = await streaming(destination);
		await deliver(env, LATE);
		expect((await show()).latest_error).toContain(words);
	});

	test("acknowledges entries before they count as delivered", async () => {
		const { destination, accepted } = serverOf(
			"SplunkHEC",
			SERVERS.SplunkHEC,
			{ use_ack: true },
			"ack-1-",
		);
		const { stream, show } = await streaming(destination, 3);
		await deliver(env, LATE);
		expect(await show()).toMatchObject({ sequence: 1, latest_error: null });
		const [request, ...others] = await accepted();
		expect(others).toEqual([]);
		expect(request?.headers["x-splunk-request-channel"]).toBe(stream);
	});

	test("that indexes slowly gets nothing again until it has failed to for five minutes", async () => {
		const { destination, accepted } = serverOf(
			"SplunkHEC",
			SERVERS.SplunkHEC,
			{ use_ack: true },
			"ack-7-",
		);
		const { show, row, change } = await streaming(destination, 1500);
		await deliver(env, LATE);
		expect(await show()).toMatchObject({
			sequence: 0,
			latest_error: "Splunk has accepted the entries, but not indexed them yet.",
		});
		expect(await row()).toMatchObject({ file: { progress: { sent: 0, ack: { last: 1000 } } } });
		// The next attempt asks for the acknowledgment, and goes on with the other entries.
		await deliver(env, LATE + HOUR);
		const { delivered_events } = await show();
		expect(rangesOf(await accepted())).toEqual(["1-1000", `1001-${delivered_events}`]);
		const lost = serverOf("SplunkHEC", SERVERS.SplunkHEC, { use_ack: true }, "ack-99-");
		const other = await streaming(lost.destination);
		await deliver(env, LATE);
		const file = (await other.row())?.file;
		if (!file?.progress?.ack) throw new Error("Nothing is pending.");
		const ack = { ...file.progress.ack, at: Date.now() - 301_000 };
		await other.change({ file: { ...file, progress: { ...file.progress, ack } } });
		await deliver(env, LATE + HOUR);
		const [first, second] = rangesOf(await lost.accepted());
		expect(second).toBe(first);
		await change({ enabled: false });
	});
});

test.each([
	["GCS", GCS_CONFIG, (prefix: string) => listS3(prefix)],
	["AzureBlob", AZURE_CONFIG, (prefix: string) => azure.list(prefix)],
])("files are written to %s once, also by a tick that was killed", async (type, config, list) => {
	quietly();
	await azure.createContainer();
	const prefix = crypto.randomUUID();
	const { stream, change, show } = await streaming({ type, config: { ...config, prefix } }, 20);
	await deliver(
		killed((query) => /set .*"last_file" = /.test(query)),
		LATE,
	).catch(() => {});
	const [key] = await list(`${prefix}/`);
	expect(key).toMatch(`${prefix}/${stream}/`);
	await change({ lease_expires_at: null });
	await deliver(env, LATE);
	expect(await show()).toMatchObject({ sequence: 1, last_file: key, latest_error: null });
	expect(await list(`${prefix}/`)).toEqual([key]);
});
