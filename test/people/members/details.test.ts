import { and, eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { AUDITOR } from "../../../src/db/schema/access.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { oauthRefreshTokens } from "../../../src/db/schema/oauth.ts";
import { organizations } from "../../../src/db/schema/organizations.ts";
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

const addTo = (home: Home, user_id: number, level: number) =>
	db.insert(members).values({ organization_id: home.organization_id, user_id, level });

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
	expect([body.keys.length, body.projects, body.batch_exports, body.webhooks]).toEqual([
		1,
		[],
		[],
		[],
	]);
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
		// Everyone can read the entry, and may not know the names.
		ended("projects", 1),
		ended("roles", 1),
		ended("keys", 2),
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

test("an object with somebody's address as its name doesn't tell whose it is", async () => {
	const [home, stranger] = [await world(), await world()];
	expect((await home.here("POST", "/roles", { body: { name: stranger.owner.email } })).status).toBe(
		201,
	);
	expect((await details(home, stranger.owner.uuid)).status).toBe(404);
});

test("the page and the review show what an app was allowed, and no app that the organization excludes", async () => {
	const home = await world();
	const ada = await join(home.id, 1);
	const grant = v7();
	await db.batch(insertGrant(ada.id, grant));
	const allowed = ["project:read", "plugin:read"];
	await db
		.update(oauthRefreshTokens)
		.set({ scopes: allowed })
		.where(eq(oauthRefreshTokens.key_id, grant));
	const reviewed = async () => {
		const { body } = await home.here("GET", "/members/access_review");
		return body.results.find(({ uuid }: { uuid: string }) => uuid === ada.uuid).apps;
	};
	for (const apps of [(await details(home, ada.uuid)).body.apps, await reviewed()])
		expect(apps).toMatchObject([{ id: grant, scopes: allowed }]);
	await home.ask("PATCH", `/api/organizations/${home.id}`, { body: { allowed_apps: [] } });
	for (const apps of [(await details(home, ada.uuid)).body.apps, await reviewed()])
		expect(apps).toEqual([]);
	expect((await details(home, ada.uuid)).body.keys).toHaveLength(1);
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
	test("a member's key, which the member and the logs of the organizations that it reaches are told", async () => {
		const [home, other, left] = [await world(), await world(), await world()];
		const ada = await join(home.id, 1);
		await db.update(users).set({ is_email_verified: true }).where(eq(users.id, ada.id));
		await addTo(other, ada.id, 1);
		await addTo(other, home.owner.id, 8);
		// Ada isn't a member of the last one any more.
		const scoped = { label: "Laptop", scoped_organizations: [home.id, other.id, left.id] };
		const value = await keyFor(ada.id, scoped);
		const path = `/members/${ada.uuid}/keys/${await idOf(ada.id, "Laptop")}`;
		const box = outbox();
		expect((await home.here("DELETE", path, { env: box.env })).status).toBe(204);
		expect((await call("GET", "/api/users/@me", { key: value })).status).toBe(401);
		expect((await home.here("DELETE", path)).status).toBe(404);
		const entriesIn = async (of: Home) =>
			(await of.here("GET", "/activity_log?scope=PersonalApiKey")).body.results;
		for (const of of [home, other]) {
			const entries = await entriesIn(of);
			expect(entries).toMatchObject([
				{
					activity: "deleted",
					user: { uuid: home.owner.uuid },
					detail: { name: "Laptop", trigger: { job: "admin", user: ada.email } },
				},
			]);
			for (const { id } of [home, other, left]) expect(JSON.stringify(entries)).not.toContain(id);
		}
		expect(await entriesIn(left)).toEqual([]);
		await expect.poll(() => box.sent.map(({ to }) => to)).toEqual([ada.email]);
	});

	test("nothing that also gives access to an organization in which they couldn't", async () => {
		const [home, other] = [await world(), await world()];
		const ada = await join(home.id, 1);
		await addTo(other, ada.id, 15);
		const scoped = { label: "Both", scoped_organizations: [home.id, other.id] };
		const [both, here, session_key] = await Promise.all([
			keyFor(ada.id, scoped),
			keyFor(ada.id, { label: "Here", scoped_organizations: [home.id] }),
			keyFor(ada.id, { session, expires_at: LATER }),
		]);
		const grant = v7();
		await db.batch(insertGrant(ada.id, grant));
		const paths = [
			`/members/${ada.uuid}/keys/${await idOf(ada.id, "Test")}`,
			`/members/${ada.uuid}/keys/${await idOf(ada.id, "Both")}`,
			`/members/${ada.uuid}/sessions`,
			`/oauth_grants/${grant}`,
		];
		const statuses = (key: string) =>
			Promise.all(
				paths.map(
					async (path) =>
						(await call("DELETE", `/api/organizations/${home.id}${path}`, { key })).status,
				),
			);
		// Not as a stranger to the other organization, not with a level below the member's, and not with
		// a key that can't access it.
		expect(await statuses(home.key)).toEqual([403, 403, 403, 403]);
		await addTo(other, home.owner.id, 8);
		expect(await statuses(home.key)).toEqual([403, 403, 403, 403]);
		await db
			.update(members)
			.set({ level: 15 })
			.where(
				and(eq(members.user_id, home.owner.id), eq(members.organization_id, other.organization_id)),
			);
		const limited = await keyFor(home.owner.id, { scoped_organizations: [home.id] });
		expect(await statuses(limited)).toEqual([403, 403, 403, 403]);
		// Nor with an app that the other organization doesn't allow.
		const app = await keyFor(home.owner.id, {
			client_id: "https://notes.example",
			audience: "api",
		});
		const allow = (allowed_apps: string[] | null) =>
			db.update(organizations).set({ allowed_apps }).where(eq(organizations.uuid, other.id));
		await allow([]);
		expect(await statuses(app)).toEqual([403, 403, 403, 403]);
		await allow(null);
		for (const key of [both, here, session_key, ada.key])
			expect((await call("GET", "/api/users/@me", { key })).status).toBe(200);
		const one = await idOf(ada.id, "Here");
		expect((await home.here("DELETE", `/members/${ada.uuid}/keys/${one}`)).status).toBe(204);
		expect(await statuses(home.key)).toEqual([204, 204, 204, 204]);
		expect(await keysOf(ada.id)).toEqual([]);
	});

	test("nothing of another organization if the level there changes meanwhile", async () => {
		const [home, other] = [await world(), await world()];
		const ada = await join(home.id, 1);
		await addTo(other, ada.id, 1);
		await addTo(other, home.owner.id, 8);
		const raced = racing(() =>
			db
				.update(members)
				.set({ level: 1 })
				.where(
					and(
						eq(members.user_id, home.owner.id),
						eq(members.organization_id, other.organization_id),
					),
				),
		);
		const path = `/members/${ada.uuid}/keys/${await idOf(ada.id, "Test")}`;
		expect((await home.here("DELETE", path, { env: raced })).status).toBe(403);
		expect(await keysOf(ada.id)).toHaveLength(1);
	});

	test("not their own, for which there are other paths with other scopes", async () => {
		const home = await world();
		await keyFor(home.owner.id, { session, expires_at: LATER });
		const key = await keyFor(home.owner.id, { scopes: ["organization_member:write"] });
		const id = await idOf(home.owner.id, "Test");
		for (const uuid of ["@me", home.owner.uuid])
			for (const [path, other] of [
				[`keys/${id}`, "/api/personal_api_keys"],
				["sessions", "/api/users/@me/sessions"],
			]) {
				const refused = await home.here("DELETE", `/members/${uuid}/${path}`, { key });
				expect([refused.status, refused.body.detail]).toEqual([
					403,
					expect.stringContaining(other ?? ""),
				]);
			}
		expect(await keysOf(home.owner.id)).toHaveLength(3);
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
		const elsewhere = { ...session, method: "saml", connection: `saml:${v7()}` };
		const values = [session, elsewhere].map((session) =>
			keyFor(ada.id, { session, expires_at: LATER }),
		);
		const [one] = await Promise.all(values);
		await keyFor(ada.id, { session, expires_at: "2026-01-01T00:00:00.000Z" });
		const ended = await home.here("DELETE", `/members/${ada.uuid}/sessions`);
		expect(ended.status).toBe(204);
		expect((await call("GET", "/api/users/@me", { key: one })).status).toBe(401);
		expect((await keysOf(ada.id)).map(({ label }) => label)).toEqual(["Test"]);
		const { body } = await home.here("GET", "/activity_log?scope=Session");
		// Not the one that had expired, and not which provider it was.
		expect(body.count).toBe(2);
		expect(JSON.stringify(body)).not.toContain(elsewhere.connection);
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
