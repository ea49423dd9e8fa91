import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { users } from "../../../src/db/schema/people.ts";
import { personalApiKeys } from "../../../src/db/schema/personal_api_keys.ts";
import { scimTokens } from "../../../src/db/schema/scim.ts";
import { webhooks } from "../../../src/db/schema/webhooks.ts";
import {
	call,
	cost,
	db,
	furnished,
	insertGrant,
	join,
	keyFor,
	serviceAccount,
	world,
} from "../../support/world.ts";

const AT = "/credentials";
const OLD = "2026-01-05T00:00:00.000Z";
const FUTURE = "2999-01-01T00:00:00.000Z";

type Listed = { id: string; kind: string; label: string; owner: { id: string } };
type Home = Awaited<ReturnType<typeof world>>;

async function labels(home: Home, query = "", key?: string) {
	const { status, body } = await home.here("GET", `${AT}${query}`, key ? { key } : {});
	expect([status, body.count]).toEqual([200, body.results.length]);
	return body.results.map(({ label }: Listed) => label);
}

const pathsOf = async (home: Home, key: string) =>
	(await call("GET", `/api/organizations/${home.id}${AT}`, { key })).status;

test("all credentials are listed in one round trip, with their owners and without a value", async () => {
	const home = await furnished();
	await db
		.update(webhooks)
		.set({ url: "https://hooks.slack.com/services/T0/B0/secret", description: "" })
		.where(eq(webhooks.id, home.webhook));
	const response = await home.here("GET", AT);
	expect(response.status).toBe(200);
	expect(cost(response)).toMatchObject({ trips: 1, written: 0 });
	const { count, results } = response.body;
	expect(results).toHaveLength(count);
	const user = { kind: "user", id: home.owner.uuid, name: "Test", email: home.owner.email };
	const account = { kind: "service_account", id: home.account, name: "Deploy", email: null };
	const byId = (id: string) => results.find((listed: Listed) => listed.id === id);
	expect(byId(home.key_id)).toMatchObject({
		...{ kind: "personal_api_key", label: "Spare", owner: user, last_used_at: null },
		...{ scopes: ["personal_api_key:read"], scoped_projects: [], expires_at: null },
	});
	expect(byId(home.account_key)).toMatchObject({ kind: "service_account_key", owner: account });
	expect(byId(home.oauth_grant)).toMatchObject({
		...{ kind: "oauth_grant", label: "Notes", owner: user, scopes: ["project:read"] },
		expires_at: null,
	});
	expect(byId(home.trusted_issuer)).toMatchObject({ kind: "trusted_issuer", owner: account });
	expect(byId(home.scim_token)).toMatchObject({
		...{ kind: "scim_token", label: "tnt_scim_…test", scopes: [] },
		owner: { kind: "domain", id: home.domain, name: `${home.domain}.example.com`, email: null },
	});
	// The path of such a URL is secret.
	expect(byId(home.webhook)).toMatchObject({
		...{ kind: "webhook", label: "hooks.slack.com" },
		owner: { kind: "organization", id: home.id, name: "Acme", email: null },
	});
	const [stored, tokens, hooks] = await db.batch([
		db.select().from(personalApiKeys),
		db.select().from(scimTokens),
		db.select().from(webhooks),
	]);
	const text = JSON.stringify(response.body);
	for (const secret of [...stored, ...tokens].map(({ hash }) => hash))
		expect(text).not.toContain(secret);
	for (const { secret, url } of hooks)
		for (const one of [secret, url]) expect(text).not.toContain(one);
	expect(text).not.toContain(home.key);
});

describe("what isn't listed", () => {
	test("sessions, what has ended, keys of issuers, and keys of people who aren't members or are deactivated", async () => {
		const home = await world();
		const [member, gone, stranger] = [
			await join(home.id, 1),
			await join(home.id, 1),
			await world(),
		];
		const account = await serviceAccount(home);
		await keyFor(member.id, { label: "Over", expires_at: OLD });
		await keyFor(member.id, {
			label: "Mail",
			session: { method: "mail", connection: null, address: null, user_agent: null },
		});
		await keyFor(account.user_id, { label: "Exchanged", client_id: v7(), expires_at: FUTURE });
		const lapsed = v7();
		await db.batch(insertGrant(member.id, lapsed, { label: "Lapsed" }));
		await env.DB.prepare("update oauth_refresh_tokens set expires_at = ? where key_id = ?")
			.bind(OLD, lapsed)
			.run();
		await keyFor(gone.id, { label: "Of somebody who is deactivated" });
		await db.update(users).set({ is_active: false }).where(eq(users.id, gone.id));
		await keyFor(stranger.owner.id, { label: "Stranger's" });
		expect(await labels(home)).toEqual(["Test", "Test"]);
	});

	test("apps that the organization excludes", async () => {
		const home = await world();
		const member = await join(home.id, 1);
		await db.batch(insertGrant(member.id, v7(), { label: "App" }));
		expect(await labels(home)).toEqual(["Test", "Test", "App"]);
		await home.ask("PATCH", `/api/organizations/${home.id}`, { body: { allowed_apps: [] } });
		expect(await labels(home)).toEqual(["Test", "Test"]);
	});

	test("what a member's keys can reach elsewhere", async () => {
		const [home, other] = [await world("Acme"), await world("Rival")];
		const member = await join(home.id, 1);
		await other.here("POST", "/invites", { body: { target_email: member.email } });
		await env.DB.prepare(
			"insert into members (id, organization_id, user_id, level, joined_at, updated_at) values (?, ?, ?, 15, ?, ?)",
		)
			.bind(v7(), other.organization_id, member.id, OLD, OLD)
			.run();
		await keyFor(member.id, { label: "Rival only", scoped_organizations: [other.id] });
		await keyFor(member.id, { label: "Rival's project", scoped_projects: [other.project] });
		await keyFor(member.id, { label: "Both", scoped_organizations: [home.id, other.id] });
		await keyFor(member.id, { label: "Projects", scoped_projects: [other.project, home.project] });
		const ofRival = v7();
		await db.batch(
			insertGrant(member.id, ofRival, { label: "App", scoped_organizations: [other.id] }),
		);
		const { body } = await home.here("GET", `${AT}?owner=${member.uuid}`);
		expect(body.results.map(({ label }: Listed) => label)).toEqual(["Test", "Both", "Projects"]);
		expect(body.results[2].scoped_projects).toEqual([home.project]);
		const text = JSON.stringify(body);
		for (const secret of [other.id, "Rival"]) expect(text).not.toContain(secret);
		// What the search finds says nothing about it, either.
		expect(await labels(home, "?search=rival")).toEqual([]);
		// The organization of the other path is the one that counts.
		const response = await call("GET", `/api/organizations/${other.id}${AT}`, { key: home.key });
		expect(response.status).toBe(403);
	});
});

test("only admins list credentials, of their organization and with the scope", async () => {
	const home = await world();
	const [member, admin, stranger] = [await join(home.id, 1), await join(home.id, 8), await world()];
	expect(await pathsOf(home, admin.key)).toBe(200);
	for (const key of [
		member.key,
		stranger.key,
		await keyFor(admin.id, { scopes: ["organization:write", "webhook:write"] }),
		await keyFor(admin.id, { scoped_organizations: [stranger.id] }),
		await keyFor(admin.id, { scoped_projects: [home.project] }),
	])
		expect(await pathsOf(home, key)).toBe(403);
});

test("a key sees SCIM tokens and webhooks only with their scopes, also in the count", async () => {
	const home = await furnished();
	const kinds = async (...scopes: string[]) => {
		const key = await keyFor(home.owner.id, { scopes: ["organization_member:read", ...scopes] });
		const { body } = await home.here("GET", AT, { key });
		expect(body.count).toBe(body.results.length);
		return body.results.map(({ kind }: Listed) => kind);
	};
	const narrow = await kinds();
	expect(narrow).toContain("service_account_key");
	expect(narrow).not.toContain("scim_token");
	expect(narrow).not.toContain("webhook");
	expect(await kinds("organization:write")).toContain("scim_token");
	expect(await kinds("organization:write")).not.toContain("webhook");
	expect(await kinds("webhook:read")).toContain("webhook");
});

test("webhooks and domains that a member may not view are left out, also from the count", async () => {
	const home = await furnished();
	const member = await join(home.id, 1);
	const give = async (resource: string, access_level: string) => {
		const body = { resource, member: member.uuid, access_level };
		expect((await home.here("POST", "/access_controls", { body })).status).toBe(201);
	};
	const kinds = async () => {
		const { body } = await home.here("GET", AT, { key: member.key });
		expect(body.count).toBe(body.results.length);
		return body.results.map(({ kind }: Listed) => kind);
	};
	await give("organization_member", "viewer");
	expect(await kinds()).not.toContain("webhook");
	await give("webhook", "viewer");
	expect(await kinds()).toEqual(expect.arrayContaining(["scim_token", "webhook"]));
	await give("domain", "none");
	expect(await kinds()).not.toContain("scim_token");
});

test("filters find kinds, owners, texts, and what is unused or ends soon", async () => {
	const home = await furnished();
	const account = await serviceAccount(home, { name: "Ökonomie" });
	await keyFor(account.user_id, { label: "Nightly", created_at: OLD, expires_at: FUTURE });
	await keyFor(account.user_id, {
		label: "Busy",
		created_at: OLD,
		last_used_at: "2026-06-01T00:00:00.000Z",
	});
	expect(await labels(home, "?kind=Webhook&kind=scim_token")).toHaveLength(2);
	expect(await labels(home, `?kind=service_account_key${"&kind=webhook".repeat(200)}`)).toContain(
		"Nightly",
	);
	expect(await labels(home, "?kind=oauth_grant")).toEqual(["Notes"]);
	for (const kind of ["trusted_issuer", "scim_token", "webhook"])
		expect(await labels(home, `?kind=${kind}`)).toHaveLength(1);
	await db.update(webhooks).set({ description: "", url: "https://hooks.example.net/secret" });
	expect(await labels(home, "?search=hooks.example.net")).toEqual(["hooks.example.net"]);
	expect(await labels(home, "?search=secret")).toEqual([]);
	expect(await labels(home, `?owner=${account.id.toUpperCase()}`)).toEqual(["Nightly", "Busy"]);
	expect(await labels(home, "?search=ökonomie")).toEqual(["Nightly", "Busy"]);
	expect(await labels(home, "?search=NIGHT")).toEqual(["Nightly"]);
	expect(await labels(home, `?search=${home.account_key}`)).toEqual(["Spare"]);
	expect(await labels(home, `?owner=${home.domain}`)).toEqual(["tnt_scim_…test"]);
	expect(await labels(home, "?unused_since=2026-03-01")).toEqual(["Nightly"]);
	expect(await labels(home, `?unused_since=2026-07-01&owner=${account.id}`)).toEqual([
		"Nightly",
		"Busy",
	]);
	expect(await labels(home, "?expires_before=3000-01-01")).toEqual(["Nightly"]);
	expect(await labels(home, "?expires_before=2998-01-01")).toEqual([]);
	for (const wrong of [
		"kind=password",
		"owner=me",
		"unused_since=soon",
		`search=${"x".repeat(201)}`,
	])
		expect((await home.here("GET", `${AT}?${wrong}`)).status).toBe(400);
});

test("a download has all, and no cell begins a formula", async () => {
	const home = await furnished();
	await keyFor(home.owner.id, { label: "=cmd|calc" });
	// The first request notes the use of its key.
	await home.here("GET", AT);
	const { body } = await home.here("GET", AT);
	const csv = await home.here("GET", `${AT}?limit=1`, { headers: { accept: "text/csv" } });
	expect(csv.headers.get("content-disposition")).toContain("credentials-");
	const [head, ...lines] = csv.body.trim().split("\r\n");
	expect(head).toContain("kind,label,owner_kind,owner_id,owner_name");
	expect(lines).toHaveLength(body.count);
	expect(csv.body).toContain(",'=cmd|calc,");
	const ndjson = await home.here("GET", AT, { headers: { accept: "application/x-ndjson" } });
	const parsed = ndjson.body
		.trim()
		.split("\n")
		.map((line: string) => JSON.parse(line));
	expect(parsed).toEqual(body.results);
});

test("a page of ten thousand credentials reads few rows, and each is on one page", async () => {
	const home = await world();
	const n = 2000;
	await env.DB.batch([
		env.DB.prepare(
			`with recursive i (i) as (select 1 union all select i + 1 from i where i < ${n})
			insert into users (uuid, distinct_id, first_name, email, created_at)
			select printf('00000000-0000-7000-8000-%012d', i), i, 'Person', '${home.id}-' || i || '@tenantry.test', '${OLD}' from i`,
		),
		env.DB.prepare(
			`insert into members (id, organization_id, user_id, level, joined_at, updated_at)
			select uuid, ${home.organization_id}, id, 1, '${OLD}', '${OLD}' from users where email like '${home.id}-%'`,
		),
		env.DB.prepare(
			`with recursive i (i) as (select 1 union all select i + 1 from i where i < 5)
			insert into personal_api_keys (id, user_id, label, hash, mask_value, scopes, created_at)
			select printf('00000000-0000-7000-9%03d-%012d', i, users.id), users.id, 'Key', users.uuid || i, '', '["*"]', '${OLD}'
			from users, i where email like '${home.id}-%'`,
		),
	]);
	const reads: number[] = [];
	const seen = new Set<string>();
	let next: string | null = `/api/organizations/${home.id}${AT}?limit=1000`;
	for (; next; ) {
		const response = await home.ask("GET", next);
		expect(cost(response).trips).toBe(1);
		reads.push(cost(response).read);
		for (const { id } of response.body.results) seen.add(id);
		next = response.body.next;
		expect(response.body.count).toBe(5 * n + 1);
	}
	expect(seen.size).toBe(5 * n + 1);
	// The first page counts all, once. The others only read what they return.
	expect(reads[0]).toBeLessThanOrEqual(1.8 * 5 * n);
	for (const read of reads.slice(1)) expect(read).toBeLessThanOrEqual(1.8 * 1000);
	const { body } = await home.here("GET", `${AT}?limit=100`);
	expect(cost(await home.ask("GET", body.next)).read).toBeLessThanOrEqual(200);
});
