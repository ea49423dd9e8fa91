import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { members } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { ofPage, signIn, verified, verify } from "../../sign_in/link/support.ts";
import { stopClock } from "../../support/time.ts";
import { call, cost, db, join, person, racing, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PATH = "/api/users/@me/sessions";

beforeEach(() => stopClock());

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

const use = async (value: string) =>
	(await call("GET", "/api/users/@me", { headers: { ...ofPage(value), "cf-connecting-ip": v7() } }))
		.status;

const rowOf = async (id: string) =>
	(await db.select().from(personalApiKeys).where(eq(personalApiKeys.id, id)))[0];

/** Uses a session each `step`, and returns after how long it ended. */
async function lifetime(value: string, step: number) {
	const start = Date.now();
	while ((await use(value)) === 200 && Date.now() - start < 10 * DAY) pass(step);
	return Date.now() - start;
}

describe("a session", () => {
	test("ends after 12 hours without use", async () => {
		const { value } = await signIn(await verified());
		pass(12 * HOUR - 1);
		expect(await use(value)).toBe(200);
		const unused = await signIn(await verified());
		pass(12 * HOUR);
		expect(await use(unused.value)).toBe(401);
	});

	test("in use ends 7 days after it began", async () => {
		const { value } = await signIn(await verified());
		for (let uses = 0; uses < 14; uses++) {
			pass(11.5 * HOUR);
			expect(await use(value)).toBe(200);
		}
		pass(7 * HOUR - 1);
		expect(await use(value)).toBe(200);
		pass(1);
		expect(await use(value)).toBe(401);
	});

	test("lasts as long as the strictest of its user's organizations allows", async () => {
		const [one, two] = [await world(), await world()];
		const [user, both] = [await join(one.id, 1), await join(one.id, 1)];
		await db
			.insert(members)
			.values({ organization_id: two.organization_id, user_id: both.id, level: 1 });
		for (const each of [user, both]) await verify(each);
		await one.here("PATCH", "", { body: { session_idle_minutes: 60 } });
		await two.here("PATCH", "", { body: { session_idle_minutes: 15, session_max_minutes: 180 } });
		const { value } = await signIn(user);
		pass(59 * MINUTE);
		expect(await use(value)).toBe(200);
		expect(await lifetime(value, 60 * MINUTE)).toBe(60 * MINUTE);
		expect(await lifetime((await signIn(both)).value, 14 * MINUTE)).toBe(182 * MINUTE);
		expect(await lifetime((await signIn(both)).value, 15 * MINUTE)).toBe(15 * MINUTE);
	});

	test("that began before a setting was changed obeys it from its next noted use", async () => {
		const home = await world();
		const user = await join(home.id, 1);
		await verify(user);
		const { value, id } = await signIn(user);
		await home.here("PATCH", "", { body: { session_idle_minutes: 30 } });
		pass(HOUR - 1);
		await use(value);
		expect(await rowOf(id)).toMatchObject({
			expires_at: new Date(Date.now() + 11 * HOUR + 1).toISOString(),
		});
		pass(2);
		await use(value);
		expect(await rowOf(id)).toMatchObject({
			expires_at: new Date(Date.now() + 30 * MINUTE).toISOString(),
		});
	});

	test("is written once an hour, with one row", async () => {
		const { value, id } = await signIn(await verified());
		const before = await rowOf(id);
		pass(HOUR - 1);
		await use(value);
		expect(await rowOf(id)).toEqual(before);
		pass(2);
		await use(value);
		expect((await rowOf(id))?.last_used_at).toBe(new Date().toISOString());
	});
});

test("durations of an organization have bounds, and only admins set them", async () => {
	const home = await world();
	const member = await join(home.id, 1);
	for (const [name, minutes] of [
		["session_idle_minutes", 14],
		["session_idle_minutes", 43_201],
		["session_max_minutes", 59],
		["session_max_minutes", 129_601],
		["session_max_minutes", null],
	])
		expect((await home.here("PATCH", "", { body: { [`${name}`]: minutes } })).status).toBe(400);
	const body = { session_idle_minutes: 15, session_max_minutes: 60 };
	const path = `/api/organizations/${home.id}`;
	expect((await call("PATCH", path, { key: member.key, body })).status).toBe(403);
	expect((await home.here("PATCH", "", { body })).body).toMatchObject(body);
});

describe("the user's sessions", () => {
	test("are listed with where, when and how they began, without expired ones and keys", async () => {
		const user = await verified();
		const from = { "cf-connecting-ip": "192.0.2.7", "user-agent": "Browser/1" };
		const first = await signIn(user, { headers: from });
		const second = await signIn(user);
		const list = await call("GET", PATH, { headers: ofPage(second.value) });
		expect(list.body.results).toEqual([
			expect.objectContaining({ id: second.id, is_current: true }),
			{
				id: first.id,
				created_at: first.created_at,
				last_used_at: first.created_at,
				expires_at: first.expires_at,
				...{ method: "mail", connection: null, is_current: false },
				...{ address: "192.0.2.7", user_agent: "Browser/1" },
			},
		]);
		expect(cost(list)).toMatchObject({ trips: 1, written: 0 });
		expect(JSON.stringify(list.body)).not.toContain(first.hash);
		pass(12 * HOUR);
		expect((await call("GET", PATH, { key: user.key })).body.count).toBe(0);
	});

	test("end one by one, or all but the current one, with an event each", async () => {
		const home = await world();
		await verify(home.owner);
		const start = () => signIn(home.owner);
		const [first, second, current] = [await start(), await start(), await start()];
		const headers = ofPage(current.value);
		const ended = await call("DELETE", `${PATH}/${first.id}`, { headers });
		expect([ended.status, cost(ended).trips]).toEqual([204, 2]);
		expect((await call("DELETE", `${PATH}/${first.id}`, { headers })).status).toBe(404);
		expect([await use(first.value), await use(second.value)]).toEqual([401, 200]);
		let late = "";
		const meanwhile = async () => {
			late = (await start()).value;
		};
		const others = await call("POST", `${PATH}/end_others`, { headers, env: racing(meanwhile) });
		expect(others.status).toBe(204);
		for (const value of [second.value, late]) expect(await use(value)).toBe(401);
		expect(await use(current.value)).toBe(200);
		expect((await home.ask("GET", "/api/users/@me")).status).toBe(200);
		const { body } = await home.here("GET", "/activity_log?scope=Session&activity=deleted");
		expect(body.count).toBe(3);
		expect(body.results[0]).toMatchObject({
			user: { uuid: home.owner.uuid },
			detail: { trigger: { job: "sessions" } },
		});
	});

	test("are nobody else's", async () => {
		const user = await verified();
		const { id, value } = await signIn(user);
		const { key } = await person();
		expect((await call("GET", PATH, { key })).body.count).toBe(0);
		expect((await call("DELETE", `${PATH}/${id}`, { key })).status).toBe(404);
		const theirs = `/api/users/${user.uuid}/sessions`;
		for (const [method, path] of [
			["GET", ""],
			["DELETE", `/${id}`],
			["POST", "/end_others"],
		] as const)
			expect((await call(method, `${theirs}${path}`, { key })).status).toBe(404);
		expect(await use(value)).toBe(200);
	});
});
