import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, expect, test, vi } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { auditStreams } from "../../../src/db/schema/audit_streams.ts";
import { erasures } from "../../../src/db/schema/erasures.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { identities } from "../../../src/db/schema/sign_in.ts";
import { clearErased } from "../../../src/sign_in/erasure/clear.ts";
import worker from "../../../src/worker.ts";
import { outbox } from "../../support/mail.ts";
import { provisioned, USER } from "../../support/scim.ts";
import { stopClock } from "../../support/time.ts";
import { codeOf } from "../../support/totp.ts";
import {
	call,
	cost,
	db,
	insertGrant,
	join,
	keyFor,
	person,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";
import { rejected, signIn, verify, withFactor } from "../link/support.ts";

beforeEach(() => stopClock());

const ME = "/api/users/@me";

type User = { key: string; email: string };

const erase = (
	{ key, email }: User,
	{ body = {}, env = {} }: { body?: object; env?: Partial<Env> } = {},
) => call("DELETE", ME, { key, body: { email, ...body }, env });

/** Returns the places in D1, KV and R2 that have one of the texts, in any case, besides in `kept`. */
async function placesWith(texts: string[], kept = "-") {
	const found = new Set<string>();
	const note = (place: string, content: string) => {
		const folded = content.toLowerCase().replaceAll(kept, "");
		if (texts.some((text) => folded.includes(text.toLowerCase()))) found.add(place);
	};
	const tables = await env.DB.prepare(
		"select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\' and name not like 'sqlite%'",
	).all<{ name: string }>();
	for (const { name } of tables.results)
		for (const row of (await env.DB.prepare(`select * from "${name}"`).all()).results)
			note(name, JSON.stringify(row));
	for (const { name } of (await env.KEYS.list()).keys)
		note("KV", `${name} ${await env.KEYS.get(name)}`);
	for (const { key } of (await env.EXPORTS.list()).objects)
		note("R2", `${key} ${await (await env.EXPORTS.get(key))?.text()}`);
	return [...found].sort();
}

test("an erased person is found in no store: not the names, nor any address they ever had", async () => {
	const mark = `zq${v7().slice(-8)}`;
	const home = await provisioned();
	const other = await world(`Other`);
	const [email, renamed] = [home.address(`${mark}.old`), home.address(mark)];
	const name = { givenName: `${mark}First`, familyName: `${mark}Last` };
	const added = await home.scim("POST", "/Users", {
		body: { schemas: [USER], userName: email, externalId: `${mark}@idp`, name, active: true },
	});
	expect(added.status).toBe(201);
	const path = `/Users/${added.body.id}`;
	const replaced = { schemas: [USER], userName: renamed, name, active: true };
	expect((await home.scim("PUT", path, { body: replaced })).status).toBe(200);
	const [user] = await db.select().from(users).where(eq(users.email, renamed));
	if (!user) throw new Error("SCIM has added nobody.");
	await verify(user);
	await signIn(user);
	const key = await keyFor(user.id, { label: "Laptop" });
	const link = (connection: string) => ({
		...{ connection, subject: mark, user_id: user.id, email: `${mark}@${connection}.example` },
	});
	await db.insert(identities).values([link("github"), link("gitlab")]);
	const asked = async (method: string, at: string, options: object, status: number) => {
		const response = await call(method, at, { key, ...options });
		expect([method, at, response.status, response.body]).toEqual([
			method,
			at,
			status,
			response.body,
		]);
		return response.body;
	};
	const names = { first_name: `${mark}First2`, last_name: `${mark}Last2` };
	await asked("PATCH", ME, { body: names }, 200);
	const retried = { headers: { "idempotency-key": mark } };
	const newKey = { label: "Key", scopes: ["*"] };
	await asked("POST", "/api/personal_api_keys", { body: newKey, ...retried }, 201);
	await asked("POST", `${ME}/two_factor/begin`, { body: {} }, 200);
	const invite = { target_email: `${v7()}@tenantry.test`, message: `Come, says ${mark}First` };
	await asked("POST", `/api/organizations/${home.id}/invites`, { body: invite }, 201);
	await asked("DELETE", `${ME}/identities/github`, {}, 204);
	const toThem = { target_email: renamed, first_name: `${mark}First`, message: `Hi ${mark}` };
	expect((await other.here("POST", "/invites", { body: toThem })).status).toBe(201);
	const level = { body: { level: 8 } };
	expect((await home.here("PATCH", `/members/${user.uuid}`, level)).status).toBe(200);
	const role = (await home.here("POST", "/roles", { body: { name: "Writers" } })).body;
	const joining = { body: { member: user.uuid } };
	expect((await home.here("POST", `/roles/${role.id}/members`, joining)).status).toBe(201);
	// A neighbour, whose address ends like theirs.
	const neighbour = await join(home.id, 1);
	await db
		.update(users)
		.set({ email: `anna.${renamed}` })
		.where(eq(users.id, neighbour.id));
	expect((await home.here("DELETE", `/members/${neighbour.uuid}`)).status).toBe(204);
	expect(await placesWith([mark])).toEqual([
		"activity_log",
		"idempotency_keys",
		"identities",
		"invite_mails",
		"invites",
		"scim_requests",
		"scim_users",
		"users",
	]);

	const mails = outbox();
	const erased = await erase({ key, email: renamed.toUpperCase() }, { env: mails.env });
	expect([erased.status, erased.body]).toEqual([204, null]);
	expect(mails.take()).toMatchObject([
		{ to: renamed, subject: "Your Tenantry account was deleted" },
	]);
	expect((await call("GET", ME, { key })).status).toBe(401);
	await clearErased(env);
	expect(await db.select().from(erasures).where(eq(erasures.user_id, user.id))).toEqual([]);
	const kept = `anna.${renamed}`;
	const [entry] = await db.select().from(activityLog).where(eq(activityLog.name, kept));
	expect(entry).toMatchObject({ scope: "Member", activity: "deleted" });
	expect(await placesWith([mark], kept)).toEqual([]);

	const after = `${user.uuid}@deleted.invalid`;
	const { body: log } = await home.here("GET", `/activity_log?user=${user.uuid}&limit=1`);
	expect(log.results).toMatchObject([
		{
			user: { uuid: user.uuid, first_name: "", last_name: "", email: after },
			...{ scope: "Member", activity: "deleted" },
			detail: { name: after, trigger: { account: "deleted" } },
		},
	]);
});

test("what an erased person has made stays, and so do service accounts", async () => {
	const home = await world();
	const other = await join(home.id, 15);
	const account = await serviceAccount(home);
	const body = { name: "Kept", interval: "hour", destination: { type: "NoOp", config: {} } };
	expect((await home.here("POST", "/batch_exports", { body })).status).toBe(201);
	expect((await erase(home.owner)).status).toBe(204);
	const ask = (path: string) => call("GET", `/api/organizations/${home.id}${path}`, other);
	expect((await ask("/batch_exports")).body.results).toMatchObject([{ name: "Kept" }]);
	expect((await ask("/service_accounts")).body.results).toMatchObject([{ id: account.id }]);
	expect((await ask("/members")).body.results).toMatchObject([{ user: { uuid: other.uuid } }]);
	const { body: organization } = await ask("/");
	expect(organization.member_count).toBe("1");
	expect(await ask(`/members/${home.owner.uuid}/details`)).toMatchObject({ status: 200 });
});

test("the only owner of organizations is told which, also when another owner leaves meanwhile", async () => {
	const home = await world("Acme");
	const refused = await erase(home.owner);
	expect(refused).toMatchObject(rejected("only_owner"));
	expect(refused.body.detail).toContain('the only owner of "Acme".');
	const other = await join(home.id, 15);
	const leaving = racing(() => db.delete(members).where(eq(members.user_id, other.id)));
	expect(await erase(home.owner, { env: leaving })).toMatchObject(rejected("only_owner"));
	expect((await call("GET", ME, home.owner)).body).toMatchObject({ email: home.owner.email });
	const third = await join(home.id, 15);
	await db.update(users).set({ is_active: false }).where(eq(users.id, third.id));
	expect(await erase(home.owner)).toMatchObject(rejected("only_owner"));
});

test("somebody who joins an organization meanwhile leaves it, too", async () => {
	const user = await person();
	const home = await world();
	const organization_id = home.organization_id;
	const row = { organization_id, user_id: user.id, level: 1 };
	const joining = racing(() => db.insert(members).values(row));
	expect((await erase(user, { env: joining })).status).toBe(204);
	expect(await db.select().from(members).where(eq(members.user_id, user.id))).toEqual([]);
	const { body } = await home.here("GET", "/events?types=member.deleted");
	expect(body.results).toHaveLength(1);
});

test("deleting oneself takes two round trips", async () => {
	const home = await world();
	await join(home.id, 15);
	const response = await erase(home.owner);
	expect(response.status).toBe(204);
	expect(cost(response).trips).toBe(2);
});

test("apps, restricted keys, service accounts and others can't delete a user", async () => {
	const home = await world();
	const user = await join(home.id, 1);
	const grant = v7();
	await db.batch([...insertGrant(user.id, grant, { scopes: ["*"] })]);
	const keys = [
		await keyFor(user.id, { scopes: ["user:write"] }),
		await keyFor(user.id, { scoped_organizations: [home.id] }),
		await keyFor(user.id, { client_id: "https://notes.example/app", audience: "api" }),
	];
	const account = await keyFor((await serviceAccount(home)).user_id);
	const { body: itself } = await call("GET", ME, { key: account });
	expect((await erase({ key: account, email: itself.email })).status).toBe(403);
	for (const key of keys) expect((await erase({ ...user, key })).status).toBe(403);
	const path = `/api/users/${user.uuid}`;
	const body = { email: user.email };
	expect((await home.ask("DELETE", path, { body })).status).toBe(404);
	const wrong = { ...user, email: home.owner.email };
	expect(await erase(wrong)).toMatchObject(rejected("invalid_input", "email"));
	expect(await call("DELETE", ME, { key: user.key, body: {} })).toMatchObject(
		rejected("required", "email"),
	);
	expect((await call("GET", ME, user)).status).toBe(200);
});

test("a second factor has to be proved, and its code works once", async () => {
	const user = await withFactor();
	expect(await erase(user)).toMatchObject(rejected("two_factor_required", "code"));
	expect(await erase(user, { body: { code: "000000" } })).toMatchObject(
		rejected("invalid_code", "code"),
	);
	vi.setSystemTime(Date.now() + 30_000);
	const code = await codeOf(user.secret);
	const responses = await Promise.all([1, 2, 3].map(() => erase(user, { body: { code } })));
	const statuses = responses.map(({ status }) => status);
	expect(statuses.filter((status) => status === 204)).toHaveLength(1);
	expect(statuses.every((status) => [204, 400, 401, 403].includes(status))).toBe(true);
});

test("an erasure that is killed goes on where it was, and a planned file of a stream loses the name", async () => {
	const home = await world();
	const uuid = v7();
	const email = `${uuid}@gone.example`;
	const organization_id = home.organization_id;
	const created = await home.here("POST", "/audit_streams", {
		body: { name: "SIEM", destination: { type: "R2", config: { prefix: uuid } } },
	});
	expect(created.status).toBe(201);
	const known = { 987654: { uuid, first_name: "Gone", email, is_service_account: false } };
	const isStream = eq(auditStreams.id, created.body.id);
	await db
		.update(auditStreams)
		.set({ file: sql`json_object('users', json(${JSON.stringify(known)}), 'digest', 'kept')` })
		.where(isStream);
	const [newest] = await db
		.insert(activityLog)
		.values({
			...{ organization_id, scope: "Member", activity: "updated", item_id: uuid, name: email },
			is_system: true,
		})
		.returning();
	const position = (newest?.position ?? 0) - 15_000;
	const row = { user_id: 987654, uuid, addresses: [email], position };
	await db.insert(erasures).values(row);
	let batches = 0;
	const killed = Object.assign(Object.create(env.DB), {
		batch: (statements: D1PreparedStatement[]) => {
			batches += 1;
			if (batches > 1) throw new Error("killed");
			return env.DB.batch(statements);
		},
	});
	await expect(clearErased({ ...env, DB: killed })).rejects.toThrow("killed");
	const left = () => db.select().from(erasures).where(eq(erasures.user_id, row.user_id));
	expect(await left()).toMatchObject([{ position: position + 10_000 }]);
	await worker.scheduled(createScheduledController(), env);
	expect(await left()).toEqual([]);
	expect(await placesWith([email, "Gone"])).toEqual([]);
	const [stream] = await db.select({ file: auditStreams.file }).from(auditStreams).where(isStream);
	expect(stream?.file).toMatchObject({ digest: "kept", users: { 987654: { uuid } } });
});
