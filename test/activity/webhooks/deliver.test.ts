import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, gt, max } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { toEvent } from "../../../src/activity/events/event.ts";
import { deliver } from "../../../src/activity/webhooks/deliver.ts";
import { pendingOf, selectPending } from "../../../src/activity/webhooks/pending.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { webhooks } from "../../../src/db/schema/webhooks.ts";
import { userAgent } from "../../../src/outbound/fetch.ts";
import worker from "../../../src/worker.ts";
import { entries, insertLog } from "../../support/activity.ts";
import { received } from "../../support/exporting.ts";
import { digests, outbox } from "../../support/mail.ts";
import { eventually, stopClock, withoutPatience } from "../../support/time.ts";
import { change, type Hook, hook, interrupted, keeping, lossy } from "../../support/webhooks.ts";
import { db, join, world } from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

const tick = (at = Date.now()) =>
	worker.scheduled(
		createScheduledController({ cron: "* * * * *", scheduledTime: new Date(at) }),
		env,
	);

const idsOf = (entries: { id: string }[]) => entries.map(({ id }) => id);

/** Writes events into an organization's feed, without a request. */
async function write(organization_id: string, n: number, more: object = {}) {
	const [newest] = await db.select({ position: max(activityLog.position) }).from(activityLog);
	const rows = Array.from({ length: n }, (_, i) => ({
		organization_id: organizationId(organization_id),
		activity: "updated",
		scope: "ServiceAccount",
		item_id: `${i}`,
		...more,
	}));
	await insertLog(...rows);
	return idsOf(await entries(gt(activityLog.position, newest?.position ?? 0)));
}

/** The events that an endpoint got, each at its first arrival. */
const firsts = async (one: Hook) => [...new Set(await one.ids())];

describe("an event", () => {
	test("says where its request came from only if the webhook's setting says so", async () => {
		const home = await world();
		const one = await hook(home, "", { has_origin: true });
		const headers = { "cf-connecting-ip": "192.0.2.7", "user-agent": "Terraform/1.9" };
		await home.here("PATCH", "", { headers, body: { name: "One" } });
		const origin = { address: "192.0.2.7", country: null, user_agent: "Terraform/1.9" };
		await one.idle();
		await home.here("PATCH", one.at, { body: { has_origin: false } });
		await home.here("PATCH", "", { headers, body: { name: "Two" } });
		await one.idle();
		const events = (await one.messages()).map(({ text }) => JSON.parse(text));
		expect(events[0].origin).toEqual({ ...origin, request_id: expect.any(String) });
		expect(events.at(-1)).not.toHaveProperty("origin");
	});

	test("arrives after the request, in the order of the feed, as the feed gives it", async () => {
		const home = await world();
		const one = await hook(home);
		for (let i = 0; i < 5; i++) await change(home);
		await home.here("POST", "/domains", { body: { domain: `${v7()}.example.com` } });
		await one.idle();
		const feed = await one.feed();
		expect(await one.ids()).toEqual(idsOf(feed));
		expect(await one.types()).toEqual([...Array(5).fill("organization.updated"), "domain.created"]);
		const [first] = feed;
		const { uuid, first_name, email } = home.owner;
		const [message] = await one.messages();
		const user = { uuid, first_name, email, is_service_account: false };
		const event = first && toEvent({ ...first, organization_id: home.id, user });
		expect(event?.origin).toMatchObject({ request_id: expect.any(String) });
		expect(JSON.parse(message?.text ?? "")).toEqual({ ...event, origin: undefined });
		expect(message).toMatchObject({
			method: "POST",
			headers: { "content-type": "application/json", "user-agent": userAgent(env) },
		});
	});

	test("of nobody, such as a skipped window, arrives by the schedule", async () => {
		const home = await world();
		const one = await hook(home, "", { types: ["batch_export_run.skipped"] });
		const [id] = await write(home.id, 1, {
			scope: "BatchExportRun",
			activity: "skipped",
			is_system: true,
		});
		expect(await one.ids()).toEqual([]);
		await tick();
		await one.idle();
		expect(await one.ids()).toEqual([id]);
		const [message] = await one.messages();
		expect(JSON.parse(message?.text ?? "").actor.type).toBe("system");
	});

	test("of another organization doesn't arrive", async () => {
		const [home, stranger] = [await world(), await world()];
		const [one, other] = [await hook(home), await hook(stranger)];
		await change(stranger);
		await other.idle();
		expect(await one.types()).toEqual([]);
		expect(await other.types()).toEqual(["organization.updated"]);
	});

	test("whose message was lost arrives by the schedule", async () => {
		const home = await world();
		const one = await hook(home);
		await one.idle();
		await change(home, lossy);
		expect((await one.row()).next_attempt_at).not.toBeNull();
		expect(await one.types()).toEqual([]);
		await tick();
		await one.idle();
		expect(await one.types()).toEqual(["organization.updated"]);
	});
});

const FAILURES: [way: string, status: number | null, error: RegExp][] = [
	["500", 500, /^127\.0\.0\.1:\d+ answered 500: "Oops 500"\.$/],
	["404", 404, /answered 404/],
	["300", 300, /answered 300: redirects are not followed/],
	["304", 304, /answered 304: redirects are not followed/],
	["redirect", 302, /answered 302: redirects are not followed/],
	["close", null, /was closed before the response was complete/],
	["cut", null, /was closed before the response was complete/],
	["huge", 500, /answered 500: "x{300}"\.$/],
];

describe("an endpoint that fails", () => {
	test.each(FAILURES)(
		"by %s gets the event again, and then those after it",
		async (way, status, error) => {
			const home = await world();
			const one = await hook(home, way, { enabled: false });
			for (let i = 0; i < 2; i++) await change(home, lossy);
			await one.due({ enabled: true });
			await deliver({ ...env, ...lossy }, { webhook: one.id });
			const before = await one.read();
			expect(before).toMatchObject({
				enabled: true,
				last_error: expect.stringMatching(error),
				last_delivery: { status: "failed", attempt: 1, response_status: status },
			});
			expect(before.failing_since).not.toBeNull();
			await one.due();
			await deliver(env, { webhook: one.id });
			const feed = idsOf(await one.feed());
			expect(await one.ids()).toEqual([feed[0], ...feed]);
			expect(await one.read()).toMatchObject({
				failing_since: null,
				last_error: null,
				next_attempt_at: null,
			});
			const [failed, ...rest] = await one.deliveries();
			expect(failed).toMatchObject({
				error: expect.stringMatching(error),
				response_status: status,
			});
			expect(rest.map(({ attempt, status }) => [attempt, status])).toEqual([
				[2, "delivered"],
				[1, "delivered"],
			]);
		},
	);

	test("by silence is given up after 15 seconds", async () => {
		const home = await world();
		const one = await hook(home, "hang", { types: ["service_account.*"] });
		await write(home.id, 1);
		await withoutPatience(() => deliver(env, { webhook: one.id }));
		const [attempt] = await one.deliveries();
		expect(attempt?.error).toMatch(/^127\.0\.0\.1:\d+ did not answer within 15 seconds\.$/);
	});

	test("only by never ending its response has received the event", async () => {
		const home = await world();
		const one = await hook(home, "drip");
		await change(home);
		await one.idle();
		expect(await one.deliveries()).toMatchObject([{ status: "delivered", response_status: 200 }]);
	});

	test("because it has no TLS, or nobody listens, is told so", async () => {
		const home = await world();
		const port = new URL(env.RECEIVER_URL).port;
		for (const [url, error] of [
			[`https://127.0.0.1:${port}/close`, /^The TLS connection to 127\.0\.0\.1:\d+ failed/],
			["http://127.0.0.1:1/", /^Nothing answers at 127\.0\.0\.1:1/],
		] as const) {
			const one = await hook(home, "", { url, types: ["organization.updated"] });
			await change(home);
			const { last_error } = await one.failed(1);
			expect(last_error).toMatch(error);
		}
	});

	test("gets it again after longer and longer pauses; Retry-After makes them longer, up to 20 hours", async () => {
		stopClock();
		const home = await world();
		const one = await hook(home, "500,500,500,500,500,500,500,500,503-7200,503-999999,503-1,*", {
			types: ["organization.updated"],
		});
		await change(home, lossy);
		const { sent, queue: DELIVERIES } = keeping();
		for (const [attempts, minutes] of [
			[0, 5 / 60],
			[1, 5],
			[2, 30],
			[3, 120],
			[4, 300],
			[5, 600],
			[6, 840],
			[7, 1200],
			[0, 120],
			[0, 1200],
			[20, 1200],
		] as const) {
			await one.due({ failing_since: null, attempts });
			await deliver({ ...env, DELIVERIES }, { webhook: one.id });
			const { next_attempt_at } = await one.row();
			const pause = (Date.parse(next_attempt_at ?? "") - Date.now()) / 60_000;
			expect(pause).toBeGreaterThanOrEqual(minutes * 0.999);
			expect(pause).toBeLessThanOrEqual(Math.min(minutes * 1.1 + 0.001, 1200));
		}
		// Without the schedule, the second attempt follows after five seconds and at most a tenth more.
		expect(sent).toEqual([{ body: { webhook: one.id }, delaySeconds: expect.any(Number) }]);
		expect([5, 6]).toContain(sent[0]?.delaySeconds);
	});

	test("by 410 is disabled at once; other webhooks, the feed and a digest to the admins say so; enabled again, it gets all events in order", async () => {
		const home = await world();
		const one = await hook(home, "200,410");
		const other = await hook(home, "", { types: ["webhook.disabled"] });
		await one.idle();
		const admin = await join(home.id, 8);
		await join(home.id, 1);
		await change(home, lossy);
		const own = outbox();
		await deliver({ ...env, ...own.env }, { webhook: one.id });
		expect(await one.read()).toMatchObject({
			enabled: false,
			disabled_reason: "The endpoint answered 410 (Gone).",
			next_attempt_at: null,
		});
		expect(own.sent).toEqual([]);
		// No reader makes a link of it.
		const host = new URL(env.RECEIVER_URL).host.replaceAll(".", ". ");
		const mails = await digests(home, Date.now());
		expect(mails.map(({ to }) => to).sort()).toEqual([home.owner.email, admin.email].sort());
		expect(mails[0]?.subject).toMatch(/^1 webhook was disabled in /);
		expect(mails[0]?.text).toContain(
			`UTC\nThe endpoint answered 410 (Gone). The last error: ${host} answered 410`,
		);
		expect(mails[0]?.text).toContain(
			`See the webhook: ${env.APP_URL}/console/${home.id}/webhooks/${one.id}\n`,
		);
		await change(home);
		await other.idle();
		expect(await other.types()).toEqual(["webhook.disabled"]);
		const [message] = await other.messages();
		expect(JSON.parse(message?.text ?? "")).toMatchObject({
			actor: { type: "system" },
			data: {
				item_id: one.id,
				name: new URL(env.RECEIVER_URL).host,
				trigger: { reason: "The endpoint answered 410 (Gone)." },
			},
		});
		const had = (await one.ids()).length;
		await one.patch({ enabled: true });
		await one.idle();
		expect(await one.read()).toMatchObject({ enabled: true, disabled_reason: null });
		expect(await firsts(one)).toEqual(idsOf(await one.feed()));
		expect((await one.ids()).length).toBeGreaterThan(had);
	});

	test("an endpoint that has failed for five days is disabled by the next attempt", async () => {
		stopClock();
		const home = await world();
		const one = await hook(home, "500,*", { types: ["service_account.*"] });
		await write(home.id, 1);
		await deliver(env, { webhook: one.id });
		const start = Date.now();
		const day = 86_400_000;
		vi.setSystemTime(start + 4.9 * day);
		await one.due({ attempts: 8 });
		await deliver(env, { webhook: one.id });
		const almost = await one.row();
		expect(almost.enabled).toBe(true);
		expect(Date.parse(almost.next_attempt_at ?? "")).toBe(start + 5 * day);
		vi.setSystemTime(start + 5 * day);
		await deliver(env, { webhook: one.id });
		expect(await one.row()).toMatchObject({
			enabled: false,
			disabled_reason: "No event could be delivered for five days.",
		});
		expect((await one.feed()).at(-1)).toMatchObject({ scope: "Webhook", activity: "disabled" });
	});

	test("doesn't hold up others, even if many hang", async () => {
		const home = await world();
		const silent = await Promise.all(Array.from({ length: 3 }, () => hook(home, "hang,hang,hang")));
		await change(home);
		for (const one of silent) await eventually(async () => expect(await one.ids()).toHaveLength(1));
		const one = await hook(home);
		await change(home);
		await one.idle();
		expect(await one.types()).toEqual(["organization.updated"]);
		// They still hang.
		for (const { row } of silent) expect((await row()).attempts).toBe(0);
		await home.here("DELETE", "");
	});
});

describe("a worker", () => {
	test("is alone with its webhook, until its lease has expired", async () => {
		const home = await world();
		const one = await hook(home);
		await one.idle();
		await change(home, lossy);
		const later = new Date(Date.now() + 45_000).toISOString();
		await one.due({ lease: 7, lease_expires_at: later });
		await deliver(env, { webhook: one.id });
		expect(await one.ids()).toHaveLength(0);
		await one.due({ lease_expires_at: "2026-01-01T00:00:00.000Z" });
		await Promise.all(Array.from({ length: 5 }, () => deliver(env, { webhook: one.id })));
		expect(await one.ids()).toHaveLength(1);
	});

	test("keeps its lease when the organization writes during a delivery", async () => {
		const home = await world();
		const one = await hook(home);
		await one.idle();
		const lease = {
			lease: 7,
			lease_expires_at: new Date(Date.now() + 45_000).toISOString(),
		};
		await one.due(lease);
		await change(home, lossy);
		expect(await one.row()).toMatchObject(lease);
	});

	test("that is killed is missed for a minute at most: the next tick sends a message for when its lease ends", async () => {
		const home = await world();
		const one = await hook(home);
		await one.idle();
		await change(home, lossy);
		const at = Date.now();
		const later = new Date(at + 44_000).toISOString();
		await one.due({ lease: 7, lease_expires_at: later });
		const { sent, queue: DELIVERIES } = keeping();
		await worker.scheduled(
			createScheduledController({ cron: "* * * * *", scheduledTime: new Date(at) }),
			{ ...env, DELIVERIES },
		);
		expect(sent.filter(({ body }) => JSON.stringify(body).includes(one.id))).toEqual([
			{ body: { webhook: one.id }, delaySeconds: 44 },
		]);
	});

	test("goes on where it was recorded that another was killed: events may come twice, none is left out", async () => {
		const home = await world();
		const one = await hook(home);
		await one.idle();
		const { position } = await one.row();
		await write(home.id, 30);
		await one.due();
		await deliver(env, { webhook: one.id });
		// As if the last record had been lost with the worker.
		await one.due({ position: position + 10 });
		await deliver(env, { webhook: one.id });
		const feed = idsOf(await one.feed());
		expect(await one.ids()).toEqual([...feed, ...feed.slice(-20)]);
	});

	/** Makes each look at the clock 0.7 s later than the one before. */
	const hurry = () => {
		const start = Date.now();
		let looks = 0;
		vi.spyOn(Date, "now").mockImplementation(() => start + 700 * looks++);
		onTestFinished(() => {
			vi.restoreAllMocks();
		});
	};

	test("hands over to another one when its time is up", async () => {
		const home = await world();
		const one = await hook(home);
		await one.idle();
		await write(home.id, 12);
		await one.due();
		const { sent, queue: DELIVERIES } = keeping();
		hurry();
		await deliver({ ...env, DELIVERIES }, { webhook: one.id });
		vi.restoreAllMocks();
		expect(sent).toMatchObject([{ body: { webhook: one.id } }]);
		expect((await one.ids()).length).toBeLessThan(12);
		expect(await one.row()).toMatchObject({
			lease_expires_at: null,
			next_attempt_at: expect.any(String),
		});
		await one.due();
		await deliver(env, sent[0]?.body);
		expect(await one.ids()).toEqual(idsOf(await one.feed()));
	});

	test.each<[string, (home: Home, one: Hook) => Promise<unknown>]>([
		["is deleted", (home, one) => home.here("DELETE", one.at)],
		["is disabled", (_, one) => one.patch({ enabled: false })],
		["belongs to a deleted organization", (home) => home.here("DELETE", "")],
	])("stops when its webhook %s", async (_, end) => {
		const home = await world();
		const one = await hook(home, "", { types: ["service_account.*"] });
		await write(home.id, 12);
		hurry();
		await deliver({ ...env, ...interrupted(() => end(home, one)) }, { webhook: one.id });
		vi.restoreAllMocks();
		const had = await one.ids();
		expect(had.length).toBeGreaterThan(0);
		expect(had.length).toBeLessThan(5);
	});

	test("carries a change of the URL to the next event at once", async () => {
		const home = await world();
		const one = await hook(home, "500,*");
		await change(home);
		await one.failed(1);
		const path = `/hooks/${v7()}`;
		await one.patch({ url: env.RECEIVER_URL + path });
		await one.idle();
		const got = await received(path);
		expect(got.map(({ headers }) => headers["webhook-id"])).toEqual(idsOf(await one.feed()));
	});

	test("says in last_error that the secret can't be decrypted", async () => {
		const error = vi.spyOn(console, "error").mockImplementation(() => {});
		const home = await world();
		const one = await hook(home, "", { enabled: false });
		await db
			.update(webhooks)
			.set({ enabled: true, secret: "sealed:AAAAAAAA:x:y" })
			.where(eq(webhooks.id, one.id));
		await change(home, lossy);
		await deliver(env, { webhook: one.id });
		expect((await one.row()).last_error).toBe("The webhook's secret can't be decrypted. Roll it.");
		expect(error).toHaveBeenCalled();
		error.mockRestore();
	});

	test("is rejected by a host in a private network, also one that was public when it was saved", async () => {
		const home = await world();
		const one = await hook(home, "", { enabled: false });
		await db.update(webhooks).set({ enabled: true }).where(eq(webhooks.id, one.id));
		await change(home, lossy);
		await deliver({ ...env, ALLOW_PRIVATE_DESTINATIONS: "false" }, { webhook: one.id });
		expect((await one.row()).last_error).toBe("127.0.0.1 is a private address.");
		expect(await one.ids()).toEqual([]);
	});
});

describe("types", () => {
	test("choose events by type and by beginning, and a change concerns what comes later", async () => {
		const home = await world();
		const one = await hook(home, "", { types: ["domain.*", "invite.created"] });
		const add = async (name: string) => {
			await home.here("POST", "/domains", { body: { domain: `${name}-${v7()}.example.com` } });
			await change(home);
			await home.here("POST", "/invites", {
				body: { target_email: `${v7()}@tenantry.test`, send_email: false },
			});
		};
		await add("a");
		await one.idle();
		expect(await one.types()).toEqual(["domain.created", "invite.created"]);
		await one.patch({ types: ["organization.updated"] });
		await one.idle();
		await add("b");
		await one.idle();
		expect(await one.types()).toEqual(["domain.created", "invite.created", "organization.updated"]);
		await one.patch({ types: [] });
		await one.idle();
		expect((await one.types()).at(-1)).toBe("webhook.updated");
	});

	test("that events lack neither wake the webhook nor cost it more rows", async () => {
		const home = await world();
		const one = await hook(home, "", { types: ["plugin_job.*", "member.updated"] });
		const pending = () =>
			selectPending(
				db,
				pendingOf(
					{ organization_id: home.organization_id, selectors: ["PluginJob", "Member.updated"] },
					0,
				),
			);
		const readBy = async () => {
			const { sql, params } = pending().events.toSQL();
			const { meta, results } = await env.DB.prepare(sql)
				.bind(...params)
				.run();
			return { read: meta.rows_read, found: results.length };
		};
		await write(home.id, 3, { scope: "PluginJob" });
		await write(home.id, 2, { scope: "PluginJob", activity: "made" });
		const few = await readBy();
		await write(home.id, 1100);
		const many = await readBy();
		expect(many.found).toBe(few.found);
		// A page reads at most a thousand events.
		expect(many.read).toBeLessThan(4500);
		expect(few.found).toBe(5);
		expect(few.read).toBeLessThan(100);
		await tick();
		await one.idle();
		expect(await one.types()).toHaveLength(5);
		await write(home.id, 10);
		expect((await one.row()).next_attempt_at).toBeNull();
	});

	test("a page has a hundred events at most, and fewer if they are large", async () => {
		const home = await world();
		const pending = () =>
			selectPending(db, pendingOf({ organization_id: home.organization_id, selectors: [] }, 0));
		await write(home.id, 101);
		expect(await pending().events).toHaveLength(100);
		const large = await world();
		const changes = [
			{ field: "x", action: "changed" as const, before: null, after: "x".repeat(700_000) },
		];
		for (let i = 0; i < 4; i++) await write(large.id, 1, { changes });
		const page = selectPending(
			db,
			pendingOf({ organization_id: large.organization_id, selectors: [] }, 0),
		);
		expect(await page.events).toHaveLength(2);
	});
});

test("events that were deleted before they were delivered are counted", async () => {
	const home = await world();
	const one = await hook(home, "", { enabled: false, types: ["service_account.*"] });
	// Times are in the order of positions.
	await db.delete(activityLog);
	await db.update(webhooks).set({ position: 0 }).where(eq(webhooks.id, one.id));
	await write(home.id, 2, { created_at: "2024-01-01T00:00:00.000Z" });
	await write(home.id, 1, { created_at: "2024-01-01T00:00:00.000Z", scope: "Other" });
	const [id] = await write(home.id, 1);
	await tick();
	expect(await one.read()).toMatchObject({ missed_events: 2 });
	await one.patch({ enabled: true });
	await one.idle();
	expect(await one.ids()).toEqual([id]);
});

test("of many events, the last hundred attempts are kept", async () => {
	const home = await world();
	const one = await hook(home);
	await one.idle();
	await write(home.id, 110);
	await one.due();
	await deliver(env, { webhook: one.id });
	await one.idle();
	const kept = await one.deliveries();
	expect(kept.map(({ event_id }) => event_id)).toEqual(idsOf(await one.feed()).slice(-100));
	expect(await one.ids()).toHaveLength(110);
	expect((await home.here("GET", `${one.at}/deliveries?limit=1`)).body.count).toBe(100);
});
