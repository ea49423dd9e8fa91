import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { AUDITOR } from "../../../src/db/schema/access.ts";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { complete, keysOf, linkFor } from "../../sign_in/link/support.ts";
import {
	call,
	cost,
	db,
	insertGrant,
	join,
	keyFor,
	serviceAccount,
	world,
} from "../../support/world.ts";

const AT = "/members/access_review";
const OLD = "2026-01-05T00:00:00.000Z";

type Listed = { user: { uuid: string }; last_active_at?: string | null };
type Reviewed = { uuid: string; email: string | null; keys: { label: string }[] };

const setUsed = (user_id: number, last_used_at: string | null) =>
	db.update(personalApiKeys).set({ last_used_at }).where(eq(personalApiKeys.user_id, user_id));

test("an access review says who has access, how, and when it was last used", async () => {
	const home = await world();
	const elsewhere = await world();
	const member = await join(home.id, 1);
	const account = await serviceAccount(home);
	await keyFor(account.user_id, { label: "Builds", scopes: ["project:read"] });
	await keyFor(member.id, { label: "Elsewhere", scoped_organizations: [elsewhere.id] });
	await keyFor(member.id, { label: "Over", expires_at: OLD });
	await db.batch(insertGrant(member.id, v7()));
	await setUsed(member.id, OLD);
	for (const role of [
		AUDITOR,
		(await home.here("POST", "/roles", { body: { name: "=Data" } })).body.id,
	])
		await home.here("POST", `/roles/${role}/members`, { body: { member: member.uuid } });
	await db.update(users).set({ is_2fa_enabled: true }).where(eq(users.id, member.id));
	// The first request notes the use of its key.
	await home.here("GET", AT);
	const response = await home.here("GET", AT);
	expect(response.status).toBe(200);
	expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
	expect(response.body.count).toBe(3);
	const of = (uuid: string) =>
		response.body.results.find((reviewed: Reviewed) => reviewed.uuid === uuid);
	expect(of(member.uuid)).toMatchObject({
		...{ email: member.email, level: 1, is_service_account: false, is_2fa_enabled: true },
		...{ last_sign_in_at: null, last_active_at: OLD },
		roles: [{ name: "=Data" }, { id: AUDITOR, name: "Auditor" }],
		keys: [{ label: "Test", scopes: ["*"], last_used_at: OLD, expires_at: null }],
		apps: [{ name: "Notes", scopes: ["project:read"] }],
	});
	expect(of(account.id)).toMatchObject({
		...{ first_name: "Deploy", email: null, is_service_account: true, last_active_at: null },
		roles: [],
		keys: [{ label: "Builds", scopes: ["project:read"] }],
	});
	const csv = await home.here("GET", AT, { headers: { accept: "text/csv" } });
	expect(csv.headers.get("content-disposition")).toContain("access_review-");
	const [head, ...lines] = csv.body.trim().split("\r\n");
	expect(head).toContain("last_sign_in_at,last_active_at,keys,apps");
	expect(lines).toHaveLength(3);
	expect(lines.filter((line: string) => line.includes("=Data; Auditor"))).toHaveLength(1);
	const ndjson = await home.here("GET", AT, { headers: { accept: "application/x-ndjson" } });
	expect(
		ndjson.body
			.trim()
			.split("\n")
			.map((line: string) => JSON.parse(line)),
	).toEqual(response.body.results);
});

test("who hasn't been active since a time is found in the list and the review", async () => {
	const home = await world();
	const [idle, busy] = [await join(home.id, 1), await join(home.id, 1)];
	await setUsed(idle.id, OLD);
	await setUsed(busy.id, "2026-06-05T00:00:00.000Z");
	const since = "?inactive_since=2026-03-01";
	for (const path of ["/members", AT]) {
		const { status, body } = await home.here("GET", path + since);
		expect([status, body.count]).toEqual([200, 1]);
		expect((body.results[0].user ?? body.results[0]).uuid).toBe(idle.uuid);
	}
	// Whoever never did anything was inactive since joining.
	await setUsed(idle.id, null);
	expect((await home.here("GET", `/members${since}`)).body.count).toBe(0);
	expect((await home.here("GET", "/members?inactive_since=2999-01-01")).body.count).toBe(3);
	expect((await home.here("GET", "/members?inactive_since=soon")).status).toBe(400);
});

test("the list says when each member was last active, if an admin asks for it", async () => {
	const home = await world();
	const [busy, idle] = [await join(home.id, 1), await join(home.id, 1)];
	await setUsed(busy.id, OLD);
	await setUsed(idle.id, null);
	const response = await home.here("GET", "/members?include_last_active=true");
	expect([response.status, response.body.count, cost(response).trips]).toEqual([200, 3, 1]);
	const times = new Map(
		response.body.results.map((row: Listed) => [row.user.uuid, row.last_active_at]),
	);
	expect([times.get(busy.uuid), times.get(idle.uuid)]).toEqual([OLD, null]);
	const [found] = (
		await home.here("GET", `/members?include_last_active=true&email=${busy.email}&order=joined_at`)
	).body.results;
	expect(found.last_active_at).toBe(OLD);
	for (const path of ["/members", "/members?include_last_active=false"])
		expect((await home.here("GET", path)).body.results[0]).not.toHaveProperty("last_active_at");
});

test("signing in is noted", async () => {
	const home = await world();
	const { owner } = home;
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, owner.id));
	const before = new Date().toISOString();
	expect((await complete({ token: await linkFor(owner) })).status).toBe(200);
	expect((await keysOf(owner)).length).toBeGreaterThan(0);
	const [reviewed] = (await home.here("GET", AT)).body.results;
	expect(reviewed.last_sign_in_at >= before).toBe(true);
	expect(reviewed.last_active_at >= before).toBe(true);
});

test("only admins review access, and only of their organization", async () => {
	const home = await world();
	const [member, stranger] = [await join(home.id, 1), await world()];
	for (const path of [
		AT,
		"/members?inactive_since=2026-01-01",
		"/members?include_last_active=true",
	])
		for (const key of [member.key, stranger.key])
			expect((await call("GET", `/api/organizations/${home.id}${path}`, { key })).status).toBe(403);
});

test("a review is read in pages, and a download has all", async () => {
	const home = await world();
	for (let i = 0; i < 3; i++) await join(home.id, 1);
	const first = await home.here("GET", `${AT}?limit=3`);
	expect([first.body.count, first.body.results.length]).toEqual([4, 3]);
	const next = await home.ask("GET", first.body.next);
	expect([next.body.results.length, next.body.next]).toEqual([1, null]);
	const all = await home.here("GET", `${AT}?limit=1`, { headers: { accept: "text/csv" } });
	expect(all.body.trim().split("\r\n")).toHaveLength(5);
});
