import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { AUDITOR } from "../../../src/db/schema/access.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { members, projectMembers, users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { outbox } from "../../support/mail.ts";
import {
	call,
	cost,
	db,
	insertGrant,
	join,
	keyFor,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";

const session = { method: "mail", connection: null, address: "192.0.2.7", user_agent: "Firefox" };
const LATER = "2999-01-01T00:00:00.000Z";

type Home = Awaited<ReturnType<typeof world>>;

const keysOf = (user_id: number) =>
	db.select().from(personalApiKeys).where(eq(personalApiKeys.user_id, user_id));

const idOf = async (user_id: number, label: string) =>
	(await keysOf(user_id)).find((key) => key.label === label)?.id ?? "";

const setLevel = (user_id: number, level: number) =>
	db.update(members).set({ level }).where(eq(members.user_id, user_id));

const details = (home: Home, uuid: string, key = home.key) =>
	call("GET", `/api/organizations/${home.id}/members/${uuid}/details`, { key });

const NEW_EXPORT = {
	name: "Nightly",
	interval: "day",
	destination: { type: "NoOp", config: {} },
};

/** A member with something of each kind. */
async function withEverything(home: Home) {
	const ada = await join(home.id, 8);
	const here = `/api/organizations/${home.id}`;
	const made = async (path: string, body: object) =>
		(await call("POST", here + path, { key: ada.key, body })).body;
	const account = await made("/service_accounts", { name: "Builds" });
	await made(`/service_accounts/${account.id}/keys`, { label: "A", scopes: ["project:read"] });
	const exported = await made("/batch_exports", NEW_EXPORT);
	const hook = await made("/webhooks", { url: "https://192.0.2.1/hook", enabled: false });
	await call("POST", `${here}/batch_exports`, {
		key: home.key,
		body: { ...NEW_EXPORT, name: "Other" },
	});
	await home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: ada.uuid } });
	await db.insert(projectMembers).values({
		project_id: home.project,
		organization_id: home.organization_id,
		user_id: ada.id,
		level: 8,
	});
	await keyFor(ada.id, { session, expires_at: LATER });
	await db.batch(insertGrant(ada.id, v7()));
	return { ...ada, account, exported, hook };
}

test("the page of a member has what belongs to them and what they have made, in one trip, without a secret", async () => {
	const [home, elsewhere] = [await world(), await world()];
	const ada = await withEverything(home);
	const value = await keyFor(ada.id, { label: "Laptop", scopes: ["project:read"] });
	await keyFor(ada.id, { label: "Elsewhere", scoped_organizations: [elsewhere.id] });
	const response = await details(home, ada.uuid);
	expect(response.status).toBe(200);
	expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
	expect(response.body).toMatchObject({
		...{ uuid: ada.uuid, email: ada.email, level: 8, is_member: true, left_at: null },
		projects: [{ id: home.project, level: 8 }],
		roles: [{ id: AUDITOR, name: "Auditor" }],
		sessions: [{ method: "mail", user_agent: "Firefox" }],
		keys: [{ label: "Test" }, { label: "Laptop", scopes: ["project:read"] }],
		apps: [{ name: "Notes", scopes: ["project:read"] }],
		service_accounts: [{ id: ada.account.id, name: "Builds", keys: 1 }],
		batch_exports: [{ id: ada.exported.id, name: "Nightly", project_id: home.project }],
		webhooks: [{ id: ada.hook.id, name: "192.0.2.1" }],
	});
	const text = JSON.stringify(response.body);
	for (const secret of [value, ada.key, "192.0.2.7", ...(await keysOf(ada.id)).map((k) => k.hash)])
		expect(text).not.toContain(secret);
});

test("a key sees only the kinds that it has the scope of", async () => {
	const home = await world();
	const ada = await withEverything(home);
	const key = await keyFor(home.owner.id, { scopes: ["organization_member:read"] });
	const { body } = await details(home, ada.uuid, key);
	expect([body.keys.length, body.batch_exports, body.webhooks]).toEqual([1, [], []]);
});

test("whoever was removed is still found, with when, what ended, and what they leave behind", async () => {
	const home = await world();
	const ada = await withEverything(home);
	expect((await home.here("DELETE", `/members/${ada.uuid}`)).status).toBe(204);
	const response = await details(home, ada.uuid);
	expect(cost(response)).toMatchObject({ trips: 1 });
	expect(response.body).toMatchObject({
		...{ id: null, is_member: false, level: null, joined_at: null, email: ada.email },
		...{ last_active_at: null, keys: [], apps: [], sessions: [], projects: [], roles: [] },
		service_accounts: [{ name: "Builds" }],
		batch_exports: [{ name: "Nightly" }],
	});
	expect(Date.parse(response.body.left_at)).toBeGreaterThan(Date.now() - 60_000);
	const about = await home.here("GET", `/activity_log?name=${ada.email}&activity=deleted`);
	const ended = (field: string, before: unknown) => ({
		field,
		action: "deleted",
		before,
		after: null,
	});
	const [removal] = about.body.results;
	expect(removal.scope).toBe("Member");
	expect(removal.detail.changes).toEqual([
		ended("level", 8),
		ended("projects", [expect.any(String)]),
		ended("roles", ["Auditor"]),
		ended("keys", ["Test", "Notes"]),
	]);
	// Actions of theirs are found by a part of the name, and by the address, as before.
	await db.update(users).set({ first_name: "Özlem" }).where(eq(users.id, ada.id));
	for (const person of ["özle", ada.email.split("@")[0] ?? ""]) {
		const found = await home.here("GET", `/activity_log?person=${encodeURIComponent(person)}`);
		expect(found.body.count).toBe(5);
	}
	expect((await home.here("GET", "/activity_log?person=service-account.invalid")).body.count).toBe(
		0,
	);
	expect((await home.here("GET", "/activity_log?name=Nightly")).body.count).toBe(1);
	const ofPlugins = "/pipeline_destinations/activity?name=Nightly";
	expect((await home.here("GET", ofPlugins)).body.count).toBe(0);
});

test("strangers, service accounts and those of whom the log says nothing aren't found", async () => {
	const [home, stranger] = [await world(), await world()];
	const account = await serviceAccount(home);
	for (const uuid of [stranger.owner.uuid, account.id, v7(), "x"])
		expect((await details(home, uuid)).status).toBe(404);
	const ada = await join(home.id, 1);
	await home.here("DELETE", `/members/${ada.uuid}`);
	expect((await details(home, ada.uuid)).status).toBe(200);
	await db.delete(activityLog).where(eq(activityLog.name, ada.email));
	expect((await details(home, ada.uuid)).status).toBe(404);
});

test("admins and auditors see the page, other members and organizations don't, and private exports stay private", async () => {
	const [home, stranger] = [await world(), await world()];
	const ada = await withEverything(home);
	const [eve, auditor] = [await join(home.id, 1), await join(home.id, 1)];
	await home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: auditor.uuid } });
	expect((await details(home, ada.uuid, auditor.key)).body.batch_exports).toHaveLength(1);
	for (const key of [eve.key, stranger.key])
		expect((await details(home, ada.uuid, key)).status).toBe(403);
	expect((await details(home, eve.uuid, eve.key)).status).toBe(403);
	// Somebody who may view people sees only the exports that they may view.
	const give = (resource: string, access_level: string) =>
		home.here("POST", "/access_controls", { body: { resource, member: eve.uuid, access_level } });
	await give("organization_member", "viewer");
	expect((await details(home, ada.uuid, eve.key)).body.batch_exports).toHaveLength(1);
	await give("batch_export", "none");
	const { body } = await details(home, ada.uuid, eve.key);
	expect([body.batch_exports, body.webhooks]).toEqual([[], []]);
});

describe("an admin ends", () => {
	test("a member's key, which the member and the logs of its organizations are told", async () => {
		const [home, other] = [await world(), await world()];
		const ada = await join(home.id, 1);
		await db.update(users).set({ is_email_verified: true }).where(eq(users.id, ada.id));
		await db
			.insert(members)
			.values({ organization_id: other.organization_id, user_id: ada.id, level: 1 });
		const scoped = { label: "Laptop", scoped_organizations: [home.id, other.id] };
		const value = await keyFor(ada.id, scoped);
		const path = `/members/${ada.uuid}/keys/${await idOf(ada.id, "Laptop")}`;
		const box = outbox();
		expect((await home.here("DELETE", path, { env: box.env })).status).toBe(204);
		expect((await call("GET", "/api/users/@me", { key: value })).status).toBe(401);
		expect((await home.here("DELETE", path)).status).toBe(404);
		const entryIn = async (of: Home) =>
			(await of.here("GET", "/activity_log?scope=PersonalApiKey")).body.results[0];
		const here = await entryIn(home);
		expect(here).toMatchObject({
			activity: "deleted",
			user: { uuid: home.owner.uuid },
			detail: { name: "Laptop", trigger: { job: "admin", user: ada.email } },
		});
		expect(JSON.stringify(here)).not.toContain(other.id);
		expect(await entryIn(other)).toMatchObject({ user: { uuid: ada.uuid } });
		await expect.poll(() => box.sent.map(({ to }) => to)).toEqual([ada.email]);
	});

	test("neither keys that can't access the organization, nor sessions, apps and keys of others by this path", async () => {
		const [home, other] = [await world(), await world()];
		const [ada, eve] = [await join(home.id, 1), await join(home.id, 1)];
		await keyFor(ada.id, { label: "Other", scoped_organizations: [other.id] });
		await keyFor(ada.id, { label: "Session", session, expires_at: LATER });
		const grant = v7();
		await db.batch(insertGrant(ada.id, grant));
		const ids = [await idOf(ada.id, "Other"), await idOf(ada.id, "Session"), grant];
		for (const id of [...ids, await idOf(eve.id, "Test"), v7(), "x"])
			expect((await home.here("DELETE", `/members/${ada.uuid}/keys/${id}`)).status).toBe(404);
		expect(await keysOf(ada.id)).toHaveLength(4);
	});

	test("all sessions of a member, but no keys", async () => {
		const home = await world();
		const ada = await join(home.id, 1);
		const values = [0, 1].map(() => keyFor(ada.id, { session, expires_at: LATER }));
		const [one] = await Promise.all(values);
		const ended = await home.here("DELETE", `/members/${ada.uuid}/sessions`);
		expect(ended.status).toBe(204);
		expect((await call("GET", "/api/users/@me", { key: one })).status).toBe(401);
		expect((await keysOf(ada.id)).map(({ label }) => label)).toEqual(["Test"]);
		const { body } = await home.here("GET", "/activity_log?scope=Session");
		expect(body.count).toBe(2);
		expect(body.results[0]).toMatchObject({
			activity: "deleted",
			user: { uuid: home.owner.uuid },
			detail: { trigger: { job: "admin", user: ada.email } },
		});
		const again = await home.here("DELETE", `/members/${ada.uuid}/sessions`);
		expect([again.status, cost(again).written]).toEqual([204, 0]);
	});

	test("nothing of somebody above them, of a stranger, or as a member", async () => {
		const [home, stranger] = [await world(), await world()];
		const [admin, eve, ada] = [
			await join(home.id, 8),
			await join(home.id, 1),
			await join(home.id, 1),
		];
		await keyFor(home.owner.id, { session, expires_at: LATER });
		const paths = async ({ id, uuid }: { id: number; uuid: string }) => [
			`/api/organizations/${home.id}/members/${uuid}/keys/${await idOf(id, "Test")}`,
			`/api/organizations/${home.id}/members/${uuid}/sessions`,
		];
		const status = async (path: string, key: string) =>
			(await call("DELETE", path, { key })).status;
		for (const path of await paths(home.owner)) expect(await status(path, admin.key)).toBe(403);
		for (const path of await paths(ada)) {
			expect(await status(path, eve.key)).toBe(403);
			expect(await status(path, stranger.key)).toBe(403);
		}
		for (const path of await paths(stranger.owner)) expect(await status(path, home.key)).toBe(404);
		expect(await keysOf(home.owner.id)).toHaveLength(2);
	});

	test.each(["keys", "sessions"])(
		"no %s of somebody whose level has risen meanwhile",
		async (kind) => {
			const home = await world();
			const [admin, ada] = [await join(home.id, 8), await join(home.id, 8)];
			await keyFor(ada.id, { session, expires_at: LATER });
			const end = kind === "keys" ? `/keys/${await idOf(ada.id, "Test")}` : "/sessions";
			const raced = racing(() => setLevel(ada.id, 15));
			const path = `/api/organizations/${home.id}/members/${ada.uuid}${end}`;
			expect((await call("DELETE", path, { key: admin.key, env: raced })).status).toBe(403);
			expect(await keysOf(ada.id)).toHaveLength(2);
		},
	);
});
