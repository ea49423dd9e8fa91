import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { announceExpiring as tick } from "../../../src/people/personal_api_keys/expiry.ts";
import { metered } from "../../support/events.ts";
import { systemEvents } from "../../support/system_events.ts";
import { stopClock } from "../../support/time.ts";
import { db, join, world } from "../../support/world.ts";

const DAY = 86_400_000;

/** An organization with a stopped clock, and functions that make keys and tick later. */
async function home() {
	stopClock();
	const here = await world();
	const start = Date.now();
	const inDays = (days: number) => new Date(start + days * DAY).toISOString();
	const make = async (days: number | null, more: object = {}) =>
		(
			await here.ask("POST", "/api/personal_api_keys", {
				body: {
					label: "CI",
					scopes: ["project:read"],
					expires_at: days === null ? null : inDays(days),
					...more,
				},
			})
		).body;
	const change = (id: string, expires_at: string | null) =>
		here.ask("PATCH", `/api/personal_api_keys/${id}`, { body: { expires_at } });
	const tickAfter = (days: number, more: Partial<Env> = {}) =>
		tick({ ...env, ...more }, start + days * DAY);
	/** The times that events tell of. */
	const told = async (organization_id = here.id) =>
		(await systemEvents(organization_id)).map(({ trigger }) => trigger?.expires_at);
	return { ...here, start, inDays, make, change, tickAfter, told };
}

test("seven days before a key expires there is one event, however many ticks race", async () => {
	const { id, owner, make, tickAfter, inDays } = await home();
	const key = await make(10);
	await make(null);
	await tickAfter(3 - 1e-6);
	expect(await systemEvents(id)).toEqual([]);
	await Promise.all([tickAfter(3), tickAfter(3), tickAfter(3)]);
	for (const days of [3, 4, 9, 10, 11]) await tickAfter(days);
	expect(await systemEvents(id)).toEqual([
		{
			type: "key.expiring",
			item_id: key.id,
			project_id: null,
			name: "CI",
			changes: [],
			trigger: {
				user_uuid: owner.uuid,
				service_account_id: null,
				mask_value: key.mask_value,
				expires_at: inDays(10),
				next_step: "Give the key a later expires_at, or replace it before then.",
			},
		},
	]);
});

test("a key that is given another time has another event, but none for a time that was told before", async () => {
	const { make, change, tickAfter, told, inDays } = await home();
	const { id } = await make(5);
	await tickAfter(0);
	await change(id, inDays(30));
	await tickAfter(1);
	expect(await told()).toEqual([inDays(5)]);
	await change(id, inDays(6));
	await tickAfter(1);
	await change(id, inDays(5));
	await tickAfter(1);
	await change(id, null);
	await tickAfter(2);
	expect(await told()).toEqual([inDays(5), inDays(6)]);
});

test("a key that has expired, lasts less than a day, or whose owner isn't active has no event", async () => {
	const { make, change, tickAfter, told, id } = await home();
	await make(0.5);
	const { id: revoked } = await make(5);
	await change(revoked, new Date(Date.now() - 1000).toISOString());
	await tickAfter(0);
	await make(5);
	const owner = await join(id, 15);
	await db.insert(personalApiKeys).values({
		user_id: owner.id,
		label: "Away",
		hash: crypto.randomUUID(),
		mask_value: "tnt_…away",
		expires_at: new Date(Date.now() + 2 * DAY).toISOString(),
	});
	await db.update(users).set({ is_active: false }).where(eq(users.id, owner.id));
	await tickAfter(1);
	expect(await told()).toHaveLength(1);
	const rows = await db.select().from(personalApiKeys).where(eq(personalApiKeys.label, "Away"));
	expect(rows[0]?.expiry_notified_for).toBe(rows[0]?.expires_at);
});

test("the event is in each organization that the key reaches, and in no other", async () => {
	const { id, owner, make, tickAfter, told, inDays } = await home();
	const [second, third] = [await world(), await world()];
	for (const { id: organization_id } of [second, third])
		await db
			.insert(members)
			.values({ organization_id: organizationId(organization_id), user_id: owner.id, level: 1 });
	await make(1.5);
	await make(2.5, { scoped_organizations: [second.id, third.id] });
	await make(3.5, { scoped_projects: [third.project] });
	await make(4.5, { scoped_projects: [second.project] });
	await db.delete(members).where(eq(members.organization_id, organizationId(third.id)));
	await db
		.insert(members)
		.values({ organization_id: organizationId(third.id), user_id: third.owner.id, level: 15 });
	const stranger = await world();
	await tickAfter(0);
	expect((await told(id)).sort()).toEqual([inDays(1.5)]);
	expect((await told(second.id)).sort()).toEqual([inDays(1.5), inDays(2.5), inDays(4.5)]);
	expect(await told(third.id)).toEqual([]);
	expect(await told(stranger.id)).toEqual([]);
});

test("a tick that is killed before its batch writes the events later", async () => {
	const { make, tickAfter, told } = await home();
	await make(5);
	const DB: D1Database = Object.assign(Object.create(env.DB), {
		prepare: (query: string) => env.DB.prepare(query),
		batch: () => Promise.reject(new Error("Killed.")),
	});
	await expect(tickAfter(0, { DB })).rejects.toThrow("Killed.");
	expect(await told()).toEqual([]);
	await tickAfter(0);
	expect(await told()).toHaveLength(1);
});

test("keys don't show what the service notes about them", async () => {
	const { make, tickAfter, ask } = await home();
	const { id, value: _, ...shown } = await make(5);
	await tickAfter(0);
	const { body } = await ask("GET", `/api/personal_api_keys/${id}`);
	expect(body).toEqual({ ...shown, id, value: null });
});

test("a tick reads only keys that it has to tell of", async () => {
	const { owner, make, tickAfter, start } = await home();
	await make(5);
	await tickAfter(0);
	const at = new Date(start + 3 * DAY).toISOString();
	await db.run(`insert into personal_api_keys (id, user_id, label, hash, mask_value, expires_at, created_at, expiry_notified_for)
		with recursive n (i) as (select 0 union all select i + 1 from n where i < 1999)
		select '${owner.uuid}-' || i, ${owner.id}, 'x', '${owner.uuid}-' || i, 'x', '${at}', '2026-01-01', '${at}' from n`);
	const { spent, db: DB } = metered();
	await tickAfter(0, { DB });
	expect(spent.read).toBeLessThan(20);
});
