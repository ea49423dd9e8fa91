import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { domains, organizationId } from "../../../src/db/schema/organizations.ts";
import { recheckDue as tick } from "../../../src/organizations/domains/recheck.ts";
import { CHALLENGE } from "../../support/domains.ts";
import { metered } from "../../support/events.ts";
import { systemEvents } from "../../support/system_events.ts";
import { stopClock } from "../../support/time.ts";
import { db, times, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A verified domain, with a stopped clock and a function that ticks later. */
async function verified(domain: string, row: Partial<typeof domains.$inferInsert> = {}) {
	stopClock();
	const home = await world();
	const start = Date.now();
	const domain_id = v7();
	const its = eq(domains.id, domain_id);
	// Names are unique, so other tests' domains of that name make way.
	await db.delete(domains).where(eq(domains.domain, domain));
	await db.insert(domains).values({
		id: domain_id,
		organization_id: organizationId(home.id),
		domain,
		verification_challenge: CHALLENGE,
		verified_at: "2026-01-01T00:00:00.000Z",
		...row,
	});
	const tickAfter = (ms: number, more: Partial<Env> = {}) => tick({ ...env, ...more }, start + ms);
	const find = async () => (await db.select().from(domains).where(its))[0];
	const shown = async () => (await home.here("GET", `/domains/${domain_id}`)).body;
	return { ...home, start, domain_id, tickAfter, find, shown };
}

describe("a verified domain whose challenge is gone", () => {
	test("is told about after three look-ups on three days, once, and stays verified", async () => {
		const settings = { sso_enforcement: "github", jit_provisioning_enabled: true };
		const { id, start, domain_id, tickAfter, shown } = await verified(
			"gone.example.test",
			settings,
		);
		const before = await shown();
		for (const ms of [0, HOUR, DAY, DAY + HOUR, 2 * DAY - 1]) await tickAfter(ms);
		expect(await systemEvents(id)).toEqual([]);
		await Promise.all([tickAfter(2 * DAY), tickAfter(2 * DAY), tickAfter(2 * DAY)]);
		expect(await systemEvents(id)).toEqual([
			{
				type: "domain.unverified",
				item_id: domain_id,
				project_id: null,
				name: "gone.example.test",
				changes: [],
				trigger: {
					missing_since: new Date(start).toISOString(),
					failed_rechecks: 3,
					error: "There is no TXT record at _tenantry-challenge.gone.example.test.",
					next_step:
						"Publish the domain's verification_challenge as a TXT record again, or delete the domain.",
				},
			},
		]);
		for (const days of [3, 4, 5, 6]) await tickAfter(days * DAY);
		expect(await systemEvents(id)).toHaveLength(1);
		expect(await shown()).toEqual(before);
		expect(before).toMatchObject({ is_verified: true, ...settings });
	});

	test("is told about if the record has another value", async () => {
		const { id, tickAfter } = await verified("wrong.example.test");
		for (const days of [0, 1, 2]) await tickAfter(days * DAY);
		expect(await systemEvents(id)).toMatchObject([
			{ trigger: { error: expect.stringContaining('Found: "something else".') } },
		]);
	});

	test("isn't told about if the challenge was there again in between, and is if it vanishes again", async () => {
		const { id, tickAfter, find } = await verified("gone.example.test");
		const set = (challenge: string, domain: string) =>
			db
				.update(domains)
				.set({ domain, verification_challenge: challenge })
				.where(eq(domains.organization_id, organizationId(id)));
		await tickAfter(0);
		await tickAfter(DAY);
		await set(CHALLENGE, "right.example.test");
		await tickAfter(2 * DAY);
		expect(await find()).toMatchObject({ failed_rechecks: 0, missing_since: null });
		await set(CHALLENGE, "gone.example.test");
		await tickAfter(3 * DAY);
		await tickAfter(4 * DAY);
		expect(await systemEvents(id)).toEqual([]);
		await tickAfter(5 * DAY);
		expect(await systemEvents(id)).toHaveLength(1);
	});
});

test("a failure of the resolver doesn't count as a missing record, and is retried after an hour", async () => {
	const { id, tickAfter, find } = await verified("gone.example.test");
	const failing = [{ DOH_URL: env.DOH_NOBODY }, { DOH_URL: `${env.RECEIVER_URL}/status/500` }];
	for (const [n, more] of failing.entries()) await tickAfter(n * HOUR, more);
	expect(await find()).toMatchObject({ failed_rechecks: 0, missing_since: null });
	await tickAfter(2 * HOUR);
	expect(await find()).toMatchObject({ failed_rechecks: 1 });
	expect(await systemEvents(id)).toEqual([]);
	const failed = await verified("x.servfail.example.test");
	for (let hours = 0; hours < 72; hours += 8) await failed.tickAfter(hours * HOUR);
	expect(await failed.find()).toMatchObject({ failed_rechecks: 0, missing_since: null });
	expect(await systemEvents(failed.id)).toEqual([]);
});

test("a domain that isn't verified is never looked up", async () => {
	const { tickAfter, find } = await verified("gone.example.test", { verified_at: null });
	await tickAfter(0);
	expect(await find()).toMatchObject({ failed_rechecks: 0, recheck_at: "" });
});

test("a domain that was just verified is looked up a day later", async () => {
	const { here, domain_id, tickAfter, find, start } = await verified("right.example.test", {
		verified_at: null,
	});
	await here("POST", `/domains/${domain_id}/verify`);
	expect((await find())?.recheck_at).toBe(new Date(start + DAY).toISOString());
	await tickAfter(DAY);
	expect((await find())?.recheck_at).toBe(new Date(start + 2 * DAY).toISOString());
});

test("a domain that is deleted during its look-up writes no event", async () => {
	const { id, domain_id, tickAfter, here } = await verified("gone.example.test", {
		failed_rechecks: 2,
	});
	let met = false;
	const DB: D1Database = Object.assign(Object.create(env.DB), {
		prepare: (query: string) => env.DB.prepare(query),
		batch: async (statements: D1PreparedStatement[]) => {
			met = true;
			await here("DELETE", `/domains/${domain_id}`);
			return env.DB.batch(statements);
		},
	});
	await tickAfter(0, { DB });
	expect(met).toBe(true);
	expect(await systemEvents(id)).toEqual([]);
});

test("a tick reads and looks up a few domains, however many there are", async () => {
	const { id, tickAfter } = await verified("right.example.test");
	await tickAfter(0);
	const isLater = new Date(Date.now() + DAY).toISOString();
	await times(100, (i) =>
		db.insert(domains).values({
			...{ organization_id: organizationId(id), domain: `d${i}.${id}.example.com` },
			...{ verification_challenge: CHALLENGE, verified_at: "2026-01-01T00:00:00.000Z" },
			recheck_at: isLater,
		}),
	);
	const idle = metered();
	await tickAfter(1, { DB: idle.db });
	expect(idle.spent.read).toBeLessThan(50);
	await db
		.update(domains)
		.set({ recheck_at: "" })
		.where(eq(domains.organization_id, organizationId(id)));
	await tickAfter(2);
	const rows = await db
		.select()
		.from(domains)
		.where(eq(domains.organization_id, organizationId(id)));
	expect(rows.filter(({ recheck_at }) => recheck_at !== "")).toHaveLength(20);
});
