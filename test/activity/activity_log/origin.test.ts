import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { AUDITOR } from "../../../src/db/schema/access.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { call, db, join, keyFor, serviceAccount, world } from "../../support/world.ts";

const FROM = {
	"cf-connecting-ip": "2001:db8::7",
	"user-agent": "Terraform/1.9",
	"x-request-id": "0193a1f0-8a7e-4c1b-9d21-5f6f3a0b1c2d",
};

const ORIGIN = {
	address: "2001:db8::7",
	country: null,
	user_agent: "Terraform/1.9",
	request_id: FROM["x-request-id"],
};

type World = Awaited<ReturnType<typeof world>>;

/** Renames the organization, and returns the entry of that. */
async function rename(home: World, key: string, headers: Record<string, string> = FROM) {
	const path = `/api/organizations/${home.id}`;
	expect(
		(await call("PATCH", path, { key, headers, body: { name: crypto.randomUUID() } })).status,
	).toBe(200);
	return (await home.here("GET", "/activity_log?limit=1")).body.results[0];
}

test("an entry has who acted, with which key, and from where", async () => {
	const home = await world();
	const { owner } = home;
	const key = await keyFor(owner.id, { label: "Deployments" });
	const entry = await rename(home, key);
	expect(entry.actor).toEqual({
		type: "person",
		uuid: owner.uuid,
		first_name: "Test",
		email: owner.email,
		key: { id: expect.any(String), kind: "api_key", label: "Deployments" },
	});
	expect(entry.origin).toEqual(ORIGIN);
	const keys = (await home.ask("GET", "/api/personal_api_keys")).body.results;
	expect(keys.map(({ id }: { id: string }) => id)).toContain(entry.actor.key.id);
	const [event] = (await home.here("GET", "/events")).body.results;
	expect(event).toMatchObject({ actor: { type: "user", key: entry.actor.key }, origin: ORIGIN });
});

test.each([
	["session", { session: { method: "mail", connection: null, address: null, user_agent: null } }],
	["app", {}],
] as const)("a person's %s is told apart from their keys", async (kind, options) => {
	const home = await world();
	const key = await keyFor(home.owner.id, { label: "Notes", ...options });
	const isKey = sql`${personalApiKeys.label} = 'Notes' and ${personalApiKeys.user_id} = ${home.owner.id}`;
	if (kind === "app")
		await db.update(personalApiKeys).set({ client_id: "https://notes.example/app" }).where(isKey);
	expect((await rename(home, key)).actor).toMatchObject({
		type: kind === "app" ? "app" : "person",
		uuid: home.owner.uuid,
		key: { kind, label: kind === "app" ? "Notes" : null },
	});
});

test("a service account acts under its name, without an address of its own", async () => {
	const home = await world();
	const account = await serviceAccount(home, { level: 8 });
	expect((await rename(home, await keyFor(account.user_id))).actor).toMatchObject({
		type: "service_account",
		uuid: account.id,
		first_name: "Deploy",
		email: null,
		key: { kind: "api_key" },
	});
});

test("members see where they acted from themselves, and only admins where others did", async () => {
	const home = await world();
	const [member, other] = [await join(home.id, 1), await join(home.id, 8)];
	await rename(home, home.key);
	await call("PATCH", "/api/users/@me", {
		key: member.key,
		headers: FROM,
		body: { current_organization_id: home.id },
	});
	await call("PATCH", "/api/users/@me", {
		key: member.key,
		headers: FROM,
		body: { last_name: "L" },
	});
	const shown = async (key: string, path: string, accept = "application/json") =>
		call("GET", `/api/organizations/${home.id}${path}`, { key, headers: { accept } });
	type Shown = { user: { uuid: string } | null; actor: { uuid: string }; origin: object | null };
	const origins = ({ body }: { body: { results: Shown[] } }) =>
		Object.fromEntries(body.results.map(({ actor, origin }) => [actor.uuid, origin]));
	const { uuid } = home.owner;
	for (const path of ["/activity_log", "/events"]) {
		expect(origins(await shown(member.key, path))).toEqual({ [uuid]: null, [member.uuid]: ORIGIN });
		expect(origins(await shown(other.key, path))).toEqual({
			[uuid]: ORIGIN,
			[member.uuid]: ORIGIN,
		});
		for (const accept of ["text/csv", "application/x-ndjson"]) {
			const { body } = await shown(member.key, path, accept);
			expect(body.split(FROM["cf-connecting-ip"])).toHaveLength(2);
			const all = await shown(other.key, path, accept);
			expect(all.body.split(FROM["cf-connecting-ip"])).toHaveLength(3);
		}
	}
});

test("the log is filtered by address, which finds only their own requests for members, and all for auditors", async () => {
	const home = await world();
	const member = await join(home.id, 1);
	await rename(home, home.key);
	await rename(home, home.key, { "cf-connecting-ip": "2001:db8::70" });
	const at = `/api/organizations/${home.id}/activity_log?address=${FROM["cf-connecting-ip"]}`;
	const { body } = await home.ask("GET", at);
	expect(body).toMatchObject({ count: 1, results: [{ origin: ORIGIN }] });
	expect((await call("GET", at, { key: member.key })).body).toMatchObject({
		count: 0,
		results: [],
	});
	const auditor = await join(home.id, 1);
	const put = { body: { member: auditor.uuid } };
	expect((await home.here("POST", `/roles/${AUDITOR}/members`, put)).status).toBe(201);
	expect((await call("GET", at, { key: auditor.key })).body).toMatchObject({
		count: 1,
		results: [{ origin: ORIGIN }],
	});
	const project = `/api/projects/${home.project}/activity_log?address=${FROM["cf-connecting-ip"]}`;
	expect((await home.ask("GET", project)).body).toMatchObject({ results: [] });
});

test("an organization can leave addresses out, which then aren't stored", async () => {
	const home = await world();
	const set = await home.here("PATCH", "", { body: { logs_addresses: false } });
	expect(set.body.logs_addresses).toBe(false);
	const entry = await rename(home, home.key);
	expect(entry.origin).toEqual({ ...ORIGIN, address: null });
	// An entry that is written with SQL instead of the cached statement.
	await home.ask("POST", "/api/personal_api_keys", {
		headers: FROM,
		body: { label: "K", scopes: ["user:read"] },
	});
	const rows = await db
		.select({ text: sql<string>`cast(origin as text)` })
		.from(activityLog)
		.where(eq(activityLog.organization_id, organizationId(home.id)));
	expect(rows.map(({ text }) => text).join()).not.toContain(FROM["cf-connecting-ip"]);
	expect(rows.at(-1)?.text).toContain("Terraform/1.9");
});

test("an entry grows by at most 120 bytes, and writes no more rows", async () => {
	const home = await world();
	const key = await keyFor(home.owner.id, { label: "配信キー".repeat(10) });
	const headers = {
		"cf-connecting-ip": "2a02:8109:9ec0:5d3c:1c4b:33ff:fe21:7a9c",
		"user-agent": "x".repeat(2000),
		"x-request-id": "r".repeat(200),
	};
	await rename(home, key, headers);
	const { results } = await env.DB.prepare(
		"select octet_length(origin) as bytes from activity_log where organization_id = ?",
	)
		.bind(home.organization_id)
		.all<{ bytes: number }>();
	// The header of the row has two bytes for the length of the text.
	for (const { bytes } of results) expect(bytes + 2).toBeLessThanOrEqual(120);
});
