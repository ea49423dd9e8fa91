import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { verifyWebhook } from "../../../packages/client/src/index.ts";
import { deliver } from "../../../src/activity/webhooks/deliver.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { webhooks } from "../../../src/db/schema/webhooks.ts";
import { unseal } from "../../../src/keys/secrets.ts";
import { now } from "../../../src/lib/time.ts";
import { entries, insertLog, RETOTAL } from "../../support/activity.ts";
import { forbidden } from "../../support/errors.ts";
import { stopClock, withoutPatience } from "../../support/time.ts";
import { change, hook, lossy } from "../../support/webhooks.ts";
import { call, cost, db, join, world } from "../../support/world.ts";

const URL = "https://192.0.2.1/hook";

/** A webhook that gets no events. */
const QUIET = { url: URL, enabled: false };

type Home = Awaited<ReturnType<typeof world>>;

const entriesOf = async (home: Home) =>
	(await home.here("GET", "/activity_log?scope=Webhook")).body.results.toReversed();

test("a webhook is added, read, changed and deleted; the log shows neither secrets nor URLs", async () => {
	const home = await world();
	const { status, body } = await home.here("POST", "/webhooks", {
		body: { ...QUIET, types: ["member.*", "domain.verified"], description: "Ours" },
	});
	expect([status, body]).toEqual([
		201,
		{
			id: expect.any(String),
			format: "standard",
			url: URL,
			types: ["member.*", "domain.verified"],
			description: "Ours",
			enabled: false,
			has_origin: false,
			disabled_reason: null,
			secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
			previous_secret_expires_at: null,
			failing_since: null,
			last_error: null,
			next_attempt_at: null,
			missed_events: 0,
			last_delivery: null,
			created_at: expect.any(String),
		},
	]);
	const at = `/webhooks/${body.id}`;
	const shown = { ...body, secret: null };
	expect((await home.here("GET", at)).body).toEqual(shown);
	expect((await home.here("GET", "/webhooks")).body).toMatchObject({ count: 1, results: [shown] });
	const change = { url: "https://192.0.2.1/hook?token=hunter2", description: "" };
	expect((await home.here("PATCH", at, { body: change })).body).toEqual({ ...shown, ...change });
	expect((await home.here("DELETE", at)).status).toBe(204);
	expect((await home.here("GET", at)).status).toBe(404);
	const entries = await entriesOf(home);
	expect(
		entries.map(
			({
				activity,
				item_id,
				detail,
			}: {
				activity: string;
				item_id: string;
				detail: { name: string };
			}) => [activity, item_id, detail.name],
		),
	).toEqual(["created", "updated", "deleted"].map((activity) => [activity, body.id, "192.0.2.1"]));
	expect(entries[1].detail.changes).toEqual([
		{ field: "url", action: "changed", before: "********", after: "********" },
		{ field: "description", action: "changed", before: "Ours", after: "" },
	]);
	expect(JSON.stringify(entries)).not.toMatch(/hunter2|whsec_/);
});

test.each([
	[{}, "url", "This field is required."],
	[{ url: "ftp://example.com" }, "url", "Enter a valid URL."],
	[
		{ url: "https://user:word@example.com" },
		"url",
		"A URL can't contain a user name or a password.",
	],
	[
		{ url: URL, types: ["member.updated", "Member"] },
		"types__1",
		"Enter a type such as member.updated, or member.* for all types that begin with it.",
	],
	[
		{ url: URL, types: ["*"] },
		"types__0",
		"Enter a type such as member.updated, or member.* for all types that begin with it.",
	],
	[
		{ url: URL, description: "x".repeat(401) },
		"description",
		"Ensure this field has no more than 400 characters.",
	],
	[{ url: URL, enabled: 7 }, "enabled", "Must be a valid boolean."],
])("%j is rejected", async (body, attr, detail) => {
	const { here } = await world();
	const response = await here("POST", "/webhooks", { body });
	expect([response.status, response.body.attr, response.body.detail]).toEqual([400, attr, detail]);
});

test.each([
	["http://127.0.0.1/", "127.0.0.1 is a private address."],
	["http://169.254.169.254/latest/meta-data", "169.254.169.254 is a private address."],
	["http://localhost:8787/", "localhost is a name of a private network."],
])("a webhook to %s is not saved", async (url, detail) => {
	const home = await world();
	const strict = { ALLOW_PRIVATE_DESTINATIONS: "false" };
	const rejected = { status: 400, body: { attr: "url", detail } };
	expect(await home.here("POST", "/webhooks", { body: { url }, env: strict })).toMatchObject(
		rejected,
	);
	const { body } = await home.here("POST", "/webhooks", { body: QUIET });
	const patch = await home.here("PATCH", `/webhooks/${body.id}`, { body: { url }, env: strict });
	expect(patch).toMatchObject(rejected);
});

/** The routes below a webhook's path, and their bodies. */
const ROUTES: [method: string, below: string, body?: object][] = [
	["GET", ""],
	["PATCH", "", {}],
	["DELETE", ""],
	["POST", "/test"],
	["POST", "/roll"],
	["POST", "/replay", { since: "2026-01-01" }],
	["GET", "/deliveries"],
	["POST", `/deliveries/${v7()}/replay`],
];

test("a webhook of another organization and its deliveries are not found", async () => {
	const [home, stranger] = [await world(), await world()];
	const one = await hook(home, "", { enabled: false });
	const { body: delivery } = await home.here("POST", `${one.at}/test`);
	for (const [method, below, body] of [
		...ROUTES,
		["POST", `/deliveries/${delivery.id}/replay`] as const,
	]) {
		const { status } = await stranger.here(method, `/webhooks/${one.id}${below}`, { body });
		expect([method, below, status]).toEqual([method, below, 404]);
	}
	expect((await stranger.here("GET", "/webhooks")).body.count).toBe(0);
	expect(await one.read()).toMatchObject({ enabled: false, last_delivery: delivery });
});

test("a member who isn't an admin reaches no route of webhooks, and an admin does", async () => {
	const home = await world();
	const one = await hook(home, "", { enabled: false });
	const [member, admin] = [await join(home.id, 1), await join(home.id, 8)];
	const path = `/api/organizations/${home.id}/webhooks`;
	const below = ROUTES.map(([method, rest, body]) => [method, `/${one.id}${rest}`, body] as const);
	for (const [method, at, body] of [["GET", ""], ["POST", "", QUIET], ...below] as const)
		expect([method, at, await call(method, path + at, { key: member.key, body })]).toMatchObject([
			method,
			at,
			forbidden("Your organization access level is insufficient."),
		]);
	expect((await call("GET", path, { key: admin.key })).body.count).toBe(1);
});

test("a delivery of another webhook is not found", async () => {
	const [home, stranger] = [await world(), await world()];
	const one = await hook(home);
	await change(home);
	await one.idle();
	const [delivery] = await one.deliveries();
	for (const { here } of [home, stranger]) {
		const { id } = (await here("POST", "/webhooks", { body: QUIET })).body;
		const path = `/webhooks/${id}/deliveries/${delivery?.id}/replay`;
		expect((await here("POST", path)).status).toBe(404);
	}
});

describe("the secret", () => {
	test("is sealed in the database, for its row", async () => {
		const home = await world();
		const one = await hook(home, "", { enabled: false });
		const { secret, id } = await one.row();
		expect(secret).toMatch(/^sealed:/);
		expect(await unseal(env, secret, { table: "webhooks", row: id, field: "secret" })).toBe(
			one.secret,
		);
		const other = { table: "webhooks", row: v7(), field: "secret" };
		await expect(unseal(env, secret, other)).rejects.toThrow();
	});

	test("that is rolled signs together with the old one for 24 hours, then alone", async () => {
		stopClock();
		const home = await world();
		const one = await hook(home, "", { types: ["webhook.rolled", "organization.*"] });
		const rolled = (await home.here("POST", `${one.at}/roll`, { env: lossy })).body;
		expect(rolled.secret).toMatch(/^whsec_/);
		expect(rolled.secret).not.toBe(one.secret);
		const day = 86_400_000;
		const until = Date.now() + day;
		expect(rolled.previous_secret_expires_at).toBe(new Date(until).toISOString());
		expect((await one.read()).secret).toBeNull();
		await deliver(env, { webhook: one.id });
		const last = async () => {
			const message = (await one.messages()).at(-1);
			return { text: message?.text ?? "", headers: message?.headers ?? {} };
		};
		const both = await last();
		expect(both.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
		for (const secret of [rolled.secret, one.secret])
			expect(await verifyWebhook(both.text, both.headers, secret)).toMatchObject({
				type: "webhook.rolled",
			});
		vi.setSystemTime(until);
		await change(home, lossy);
		await deliver(env, { webhook: one.id });
		const alone = await last();
		expect(alone.headers["webhook-signature"]?.split(" ")).toHaveLength(1);
		expect(await verifyWebhook(alone.text, alone.headers, rolled.secret)).toBeTruthy();
		expect((await one.read()).previous_secret_expires_at).toBeNull();
	});

	test.each([
		["none", 0],
		["1h", 3_600_000],
	])("that leaked ends after %s", async (overlap, lasts) => {
		stopClock();
		const home = await world();
		const one = await hook(home, "", { types: ["organization.*"] });
		const signatures = async () => {
			await change(home, lossy);
			await deliver(env, { webhook: one.id });
			const message = (await one.messages()).at(-1);
			return message?.headers["webhook-signature"]?.split(" ").length;
		};
		await home.here("POST", `${one.at}/roll`, { body: { overlap: "24h" } });
		expect(await signatures()).toBe(2);
		const end = Date.now() + lasts;
		const rolled = (await home.here("POST", `${one.at}/roll`, { body: { overlap } })).body;
		expect(rolled.previous_secret_expires_at).toBe(
			lasts === 0 ? null : new Date(end).toISOString(),
		);
		if (lasts > 0) expect(await signatures()).toBe(2);
		vi.setSystemTime(end);
		expect(await signatures()).toBe(1);
	});

	test("is rolled once by requests that race", async () => {
		const home = await world();
		const one = await hook(home, "", { enabled: false });
		const responses = await Promise.all(
			Array.from({ length: 4 }, () => home.here("POST", `${one.at}/roll`)),
		);
		const done = responses.filter(({ status }) => status === 200);
		const { secret, id } = await one.row();
		const current = await unseal(env, secret, { table: "webhooks", row: id, field: "secret" });
		expect(done.map(({ body }) => body.secret)).toContain(current);
		for (const { status, body } of responses)
			if (status !== 200)
				expect([status, body.detail]).toEqual([
					400,
					"The webhook was rolled or removed by another request.",
				]);
	});
});

describe("a test", () => {
	test.each([
		["204", { status: "delivered", response_status: 204, error: null }],
		["500", { status: "failed", response_status: 500, error: expect.stringMatching(/"Oops 500"/) }],
		["close", { status: "failed", response_status: null, error: expect.stringMatching(/closed/) }],
		[
			"redirect",
			{ status: "failed", response_status: 302, error: expect.stringMatching(/redirects/) },
		],
	])("says what came of it: %s", async (way, result) => {
		const home = await world();
		const one = await hook(home, way, { enabled: false });
		const response = await home.here("POST", `${one.at}/test`);
		expect(response.status).toBe(200);
		expect(response.body).toMatchObject({
			type: "webhook.test",
			reason: "test",
			attempt: 1,
			...result,
		});
		expect(cost(response).trips).toBe(2);
		const [message] = await one.messages();
		const { event_id } = response.body;
		expect(
			await verifyWebhook(message?.text ?? "", message?.headers ?? {}, one.secret),
		).toMatchObject({ id: event_id, type: "webhook.test", data: { item_id: one.id } });
		const read = await one.read();
		expect(read).toMatchObject({ last_delivery: response.body, failing_since: null });
		expect((await entriesOf(home)).at(-1)).toMatchObject({
			activity: "tested",
			detail: { trigger: { event_id, status: result.status } },
		});
	});

	test("of a silent endpoint ends after 15 seconds", async () => {
		const home = await world();
		const one = await hook(home, "hang", { enabled: false });
		const { body } = await withoutPatience(() => home.here("POST", `${one.at}/test`));
		expect(body.error).toMatch(/did not answer within 15 seconds/);
	});

	test("can't be replayed", async () => {
		const home = await world();
		const one = await hook(home, "", { enabled: false });
		const { id } = (await home.here("POST", `${one.at}/test`)).body;
		expect((await home.here("POST", `${one.at}/deliveries/${id}/replay`)).body.detail).toBe(
			"A test can't be replayed. Send another one.",
		);
	});
});

describe("deliveries", () => {
	test("are listed newest first, page by page, by status and by type", async () => {
		const home = await world();
		const one = await hook(home, "500", { enabled: false });
		await change(home, lossy);
		await home.here("POST", "/domains", { body: { domain: `${v7()}.example.com` }, env: lossy });
		for (let i = 0; i < 2; i++) {
			await one.due({ enabled: true });
			await deliver({ ...env, ...lossy }, { webhook: one.id });
		}
		const all = (await home.here("GET", `${one.at}/deliveries`)).body;
		expect(
			all.results.map((row: { type: string; status: string }) => [row.type, row.status]),
		).toEqual([
			["domain.created", "delivered"],
			["organization.updated", "delivered"],
			["organization.updated", "failed"],
		]);
		expect(await one.read()).toMatchObject({ last_delivery: all.results[0] });
		const first = (await home.here("GET", `${one.at}/deliveries?limit=2`)).body;
		const second = (await home.ask("GET", first.next)).body;
		expect([first.count, ...first.results, ...second.results]).toEqual([3, ...all.results]);
		const found = async (query: string) =>
			(await home.here("GET", `${one.at}/deliveries?${query}`)).body.results.length;
		expect(await found("status=failed")).toBe(1);
		expect(await found("status=FAILED&status=delivered")).toBe(3);
		expect(await found("type=organization.updated&status=delivered")).toBe(1);
		expect(await found("type=other")).toBe(0);
		const wrong = await home.here("GET", `${one.at}/deliveries?status=odd`);
		expect([wrong.status, wrong.body.attr]).toEqual([400, "status"]);
	});

	test("can be replayed one by one, whatever the webhook's turn is", async () => {
		const home = await world();
		const one = await hook(home);
		for (let i = 0; i < 2; i++) await change(home);
		await one.idle();
		const { position } = await one.row();
		const [first] = await one.deliveries();
		const path = `${one.at}/deliveries/${first?.id}/replay`;
		const response = await home.here("POST", path, { env: lossy });
		expect(response.body).toMatchObject({
			event_id: first?.event_id,
			type: "organization.updated",
			reason: "replay",
			status: "delivered",
		});
		expect(cost(response).trips).toBe(2);
		const [original, , again] = await one.messages();
		expect(again?.text).toBe(original?.text);
		expect(again?.headers["webhook-id"]).toBe(original?.headers["webhook-id"]);
		expect((await one.row()).position).toBe(position);
		expect((await entriesOf(home)).at(-1)).toMatchObject({ activity: "delivery_replayed" });
		await db.delete(activityLog).where(eq(activityLog.position, first?.position ?? 0));
		await env.DB.prepare(RETOTAL).run();
		expect((await home.here("POST", path)).body.detail).toBe(
			"The event is too old: it no longer exists.",
		);
		expect((await home.here("POST", `${one.at}/deliveries/${v7()}/replay`)).status).toBe(404);
	});
});

describe("a replay since a time", () => {
	test("delivers everything since then again, in order", async () => {
		const home = await world();
		const one = await hook(home);
		for (let i = 0; i < 4; i++) await change(home);
		await one.idle();
		const feed = await one.feed();
		const since = feed[2]?.created_at;
		const { status, body } = await home.here("POST", `${one.at}/replay`, { body: { since } });
		expect([status, body.id]).toEqual([200, one.id]);
		await one.idle();
		const ids = (await one.feed()).map(({ id }) => id);
		const before = feed.map(({ id }) => id);
		expect(await one.ids()).toEqual([...before, ...ids.slice(2)]);
		expect((await entriesOf(home)).at(-1)).toMatchObject({
			activity: "replayed",
			detail: { trigger: { since } },
		});
	});

	test("includes events that were written later than others of a later time", async () => {
		const home = await world();
		const one = await hook(home, "", { enabled: false, types: ["key.*"] });
		const write = async (created_at: string) => {
			const item_id = v7();
			await insertLog({
				organization_id: home.organization_id,
				activity: "expiring",
				scope: "Key",
				item_id,
				created_at,
			});
			const [entry] = await entries(eq(activityLog.item_id, item_id));
			return entry?.id;
		};
		const later = (seconds: number) =>
			new Date(Date.now() + 3_600_000 + seconds * 1000).toISOString();
		await write(later(0));
		const since = later(8);
		const late = await write(later(10));
		const early = await write(later(9));
		await home.here("POST", `${one.at}/replay`, { body: { since } });
		await one.patch({ enabled: true });
		await one.idle();
		expect(await one.ids()).toEqual([late, early]);
	});

	test("at a later time is the way past an event that the endpoint rejects", async () => {
		const home = await world();
		const one = await hook(home, "500,500", { enabled: false });
		await change(home);
		await home.here("POST", "/domains", { body: { domain: `${v7()}.example.com` } });
		await one.due({ enabled: true });
		await deliver({ ...env, ...lossy }, { webhook: one.id });
		const feed = await one.feed();
		expect(await one.ids()).toEqual([feed[0]?.id]);
		const since = new Date(Date.parse(feed[0]?.created_at ?? "") + 1).toISOString();
		await home.here("POST", `${one.at}/replay`, { body: { since }, env: lossy });
		await one.due();
		await deliver({ ...env, ...lossy }, { webhook: one.id });
		// The receiver's second answer is a rejection, too: of the second event.
		const [, second] = await one.ids();
		expect(second).toBe(feed[1]?.id);
		await home.here("POST", `${one.at}/replay`, { body: { since: "2999-01-01" } });
		await one.idle();
		expect(await one.types()).toEqual([
			"organization.updated",
			"domain.created",
			"webhook.replayed",
		]);
	});
});

test("a new description doesn't end the wait for an endpoint that fails, as another URL does", async () => {
	const home = await world();
	const one = await hook(home, "", { enabled: false });
	const waits = { attempts: 3, failing_since: now(), next_attempt_at: "2999-01-01T00:00:00.000Z" };
	await db
		.update(webhooks)
		.set({ enabled: true, ...waits })
		.where(eq(webhooks.id, one.id));
	await one.patch({ description: "Ours" });
	expect(await one.row()).toMatchObject(waits);
	await one.patch({ description: "Ours", url: `${env.RECEIVER_URL}/status/500` });
	expect(await one.row()).toMatchObject({ attempts: 0, failing_since: null });
	await one.patch({ enabled: false });
});

test("what happens while a webhook is disabled arrives in order when it is enabled", async () => {
	const home = await world();
	const one = await hook(home);
	await change(home);
	await one.idle();
	await one.patch({ enabled: false });
	for (let i = 0; i < 3; i++) await change(home);
	expect(await one.ids()).toHaveLength(1);
	expect((await one.read()).next_attempt_at).toBeNull();
	await one.patch({ enabled: true });
	await one.idle();
	expect(await one.ids()).toEqual((await one.feed()).map(({ id }) => id));
});

test("a write in an organization without webhooks costs the same, however many others have", async () => {
	const home = await world();
	await change(home);
	const alone = cost(await change(home));
	const other = await world();
	for (let i = 0; i < 5; i++) await hook(other, "", { enabled: false });
	const { read, ...rest } = cost(await change(home));
	expect({ ...rest, read: alone.read }).toEqual(alone);
	// Each of two seeks may read the row after the last.
	expect(read).toBeLessThanOrEqual(alone.read + 2);
	expect(alone.trips).toBe(2);
});

test("a write in an organization with webhooks takes no further round trip", async () => {
	const home = await world();
	const one = await hook(home);
	await one.idle();
	expect(cost(await change(home)).trips).toBe(2);
	expect((await db.select().from(webhooks).where(eq(webhooks.id, one.id))).length).toBe(1);
});
