import { env } from "cloudflare:workers";
import { eq, getTableName, sql } from "drizzle-orm";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { expect, test, vi } from "vitest";
import { keptBy } from "../../src/access/kept.ts";
import { auditStreams } from "../../src/db/schema/audit_streams.ts";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { notifications } from "../../src/db/schema/notifications.ts";
import { domains, organizations } from "../../src/db/schema/organizations.ts";
import { members, movedUsers, users } from "../../src/db/schema/people.ts";
import { pluginSourceFiles, pluginStorage } from "../../src/db/schema/plugins.ts";
import { scimGroupMembers, scimUsers } from "../../src/db/schema/scim.ts";
import { purgeDeleted } from "../../src/deletions/purge.ts";
import { DAY_MS } from "../../src/lib/time.ts";
import { outbox } from "../support/mail.ts";
import { stopClock } from "../support/time.ts";
import { call, db, furnished, join, withBatch, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

/** Adds what an organization has besides what is furnished. */
async function equip(home: Home) {
	const user_id = home.owner.id;
	const uuid = v7();
	const [waiting] = await db
		.insert(users)
		.values({ email: `${uuid}@moved.invalid` })
		.returning();
	await db.batch([
		db.insert(movedUsers).values({
			organization_id: home.organization_id,
			uuid,
			user_id: waiting?.id ?? 0,
			email: `${uuid}@example.com`,
		}),
		db.insert(scimUsers).values({ domain_id: home.domain, user_id, names: { displayName: "Ada" } }),
		db
			.insert(scimGroupMembers)
			.values({ domain_id: home.domain, group_id: home.scim_group, user_id }),
		db
			.insert(pluginSourceFiles)
			.values({ plugin_id: home.importer, filename: "index.ts", source: "export {};" }),
		db
			.insert(pluginStorage)
			.values({ plugin_config_id: home.config, key: "k", bytes: 1, value: "1" }),
		db.insert(notifications).values({
			organization_id: home.organization_id,
			scope: "BatchExport",
			activity: "paused",
			recipients: "owner",
		}),
		db
			.update(domains)
			.set({ break_glass: [user_id] })
			.where(eq(domains.id, home.domain)),
	]);
}

/** Deletes the organization, and returns the paths of the links that its owners were mailed. */
async function remove(home: { id: string; owner: { id: number }; ask: Home["ask"] }) {
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, home.owner.id));
	const mails = outbox();
	const settings = { ...mails.env, MAIL_FROM: "a@tenantry.test", APP_URL: "https://tenantry.test" };
	const { status } = await home.ask("DELETE", `/api/organizations/${home.id}`, { env: settings });
	expect(status).toBe(204);
	return Object.fromEntries(
		mails
			.take()
			.map(({ to, text }) => [
				String(to),
				/https:\/\/tenantry\.test(\/restorations\/\S+)/.exec(text ?? "")?.[1] ?? "",
			]),
	);
}

const linkOf = (links: Record<string, string>) => Object.values(links)[0] ?? "";

function pass(days: number) {
	const at = Date.now() + days * DAY_MS;
	stopClock();
	vi.setSystemTime(at);
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };

const press = (path: string, partial = false) =>
	call("POST", path, {
		raw: partial ? "partial=true" : "",
		headers: FORM,
	});

/** Columns that a restoration changes on purpose, or that triggers compute. */
const CHANGED = [
	"recheck_at",
	"enabled_at",
	"position",
	"lease",
	"updated_at",
	"next_attempt_at",
	"active_members",
	"invites",
	"access",
];

/** Returns all rows that are kept of the organization, as they are stored. */
async function stored(home: Home) {
	const organization = sql<number>`${home.organization_id}`;
	const { tables } = keptBy("organization", { item_id: home.id, row: organization, organization });
	const read = async ({ table, where }: { table: SQLiteTable; where: ReturnType<typeof sql> }) => {
		const names = getTableConfig(table).columns.map(({ name }) => name);
		const rows = await db.all<Record<string, unknown>>(sql`select * from ${table} where ${where}`);
		return rows
			.map((row) => names.filter((name) => !CHANGED.includes(name)).map((name) => row[name]))
			.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
	};
	return Object.fromEntries(
		await Promise.all(
			tables.map(async (kept) => [getTableName(kept.table), await read(kept)] as const),
		),
	);
}

const leftovers = () =>
	db.all(
		sql`select id from deletions union all select deletion_id from deleted_rows union all select deletion_id from restore_links`,
	);

test("a deleted organization is gone at once, and its owners' link restores it with all that it had", async () => {
	const home = await furnished();
	const other = await join(home.id, 15);
	await join(home.id, 1);
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, other.id));
	await equip(home);
	const shown = (await home.here("GET", "")).body;
	const before = await stored(home);
	expect(Object.entries(before).flatMap(([name, rows]) => (rows.length ? [] : [name]))).toEqual([]);

	const links = await remove(home);
	expect(Object.keys(links).sort()).toEqual([home.owner.email, other.email].sort());
	expect((await home.here("GET", "")).status).toBe(404);
	expect((await home.ask("GET", `/api/projects/${home.project}`)).status).toBe(404);
	expect(Object.values(await stored(home)).flat()).toEqual([]);

	const link = linkOf(links);
	const page = await call("GET", link);
	expect([page.status, page.body.includes("<button>Restore the organization</button>")]).toEqual([
		200,
		true,
	]);
	expect((await home.here("GET", "")).status).toBe(404);
	expect((await press(link)).status).toBe(200);
	expect(await stored(home)).toEqual(before);
	expect((await home.here("GET", "")).body).toEqual({ ...shown, updated_at: expect.anything() });
	const { body: log } = await home.here(
		"GET",
		"/activity_log?activity=restored&scope=Organization",
	);
	expect(log.results).toMatchObject([{ item_id: home.id, user: { uuid: expect.any(String) } }]);
	expect(await leftovers()).toEqual([]);
	// Neither works a second time.
	for (const used of Object.values(links)) {
		expect((await call("GET", used)).status).toBe(404);
		expect((await press(used)).status).toBe(404);
	}
});

test("keys of service accounts and tokens of SCIM are dead until the organization is restored", async () => {
	const home = await furnished();
	const { body: made } = await home.here("POST", `/service_accounts`, {
		body: { name: "CI", level: 1 },
	});
	const { body: key } = await home.here("POST", `/service_accounts/${made.id}/keys`, {
		body: { label: "CI", scopes: ["*"] },
	});
	const read = async () =>
		(await call("GET", `/api/organizations/${home.id}/members`, { key: key.value })).status;
	expect(await read()).toBe(200);
	const link = linkOf(await remove(home));
	expect(await read()).toBe(401);
	expect((await press(link)).status).toBe(200);
	expect(await read()).toBe(200);
});

test("its exports go on from now, and its streams continue where they were", async () => {
	const home = await furnished();
	await db
		.update(auditStreams)
		.set({ enabled: false })
		.where(eq(auditStreams.organization_id, home.organization_id));
	const streams = () =>
		db.select().from(auditStreams).where(eq(auditStreams.organization_id, home.organization_id));
	const [before] = await streams();
	const link = linkOf(await remove(home));
	expect(await streams()).toMatchObject([
		{ organization_deleted_at: expect.any(String), next_attempt_at: null },
	]);
	pass(1);
	expect((await press(link)).status).toBe(200);
	expect(await streams()).toMatchObject([
		{
			id: before?.id,
			sequence: before?.sequence,
			digest: before?.digest,
			organization_deleted_at: null,
		},
	]);
	const rows = await db
		.select()
		.from(batchExports)
		.where(eq(batchExports.organization_id, home.organization_id));
	expect(rows.map(({ deleted }) => deleted)).not.toContain(true);
});

test("twenty restorations at once restore it once", async () => {
	const home = await world();
	const link = linkOf(await remove(home));
	const answers = await Promise.all(Array.from({ length: 20 }, () => press(link)));
	expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
	expect((await home.here("GET", "")).status).toBe(200);
});

test("a link restores no other organization, and a forged or incomplete one none", async () => {
	const [home, other] = [await world(), await world()];
	const links = [await remove(home), await remove(other)].map(linkOf);
	for (const path of [
		`${links[0]}x`,
		links[0]?.slice(0, -1) ?? "",
		"/restorations/%00",
		"/restorations/x",
	])
		expect((await press(path)).status).toBe(404);
	expect((await press(links[1] ?? "")).status).toBe(200);
	expect((await home.here("GET", "")).status).toBe(404);
	expect((await other.here("GET", "")).status).toBe(200);
});

test("who is no longer an owner, or was deactivated, can't restore it", async () => {
	const home = await world();
	const second = await join(home.id, 15);
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, second.id));
	const old = (await remove(home))[second.email] ?? "";
	expect((await press(old)).status).toBe(200);
	await db.update(members).set({ level: 8 }).where(eq(members.user_id, second.id));
	const links = await remove(home);
	expect(Object.keys(links)).toEqual([home.owner.email]);
	expect((await press(old)).status).toBe(404);
	await db.update(users).set({ is_active: false }).where(eq(users.id, home.owner.id));
	const refused = await press(linkOf(links));
	expect([refused.status, refused.body.includes("was deleted or deactivated")]).toEqual([
		404,
		true,
	]);
	expect(await leftovers()).not.toEqual([]);
});

test("an owner who has deleted the account neither restores nor is restored, nor is their name kept", async () => {
	const home = await furnished();
	const second = await join(home.id, 15);
	await db.update(users).set({ is_email_verified: true }).where(eq(users.id, second.id));
	const links = await remove(home);
	const { status } = await call("DELETE", "/api/users/@me", {
		key: second.key,
		body: { email: second.email },
	});
	expect(status).toBe(204);
	expect((await press(links[second.email] ?? "")).status).toBe(404);
	expect((await press(links[home.owner.email] ?? "")).status).toBe(200);
	const { body } = await home.here("GET", "/members");
	expect(body.results.map(({ user }: { user: { uuid: string } }) => user.uuid)).not.toContain(
		second.uuid,
	);
	expect((await home.here("GET", "")).body.member_count).toBe(String(body.count));
});

test("a slug or domain that another organization took is named, and left out of a partial restoration", async () => {
	const home = await furnished();
	const [row] = await db.select().from(organizations).where(eq(organizations.uuid, home.id));
	const [domain] = await db.select().from(domains).where(eq(domains.id, home.domain));
	const link = linkOf(await remove(home));
	const other = await world();
	await db
		.update(organizations)
		.set({ slug: row?.slug ?? "" })
		.where(eq(organizations.uuid, other.id));
	expect((await other.here("POST", "/domains", { body: { domain: domain?.domain } })).status).toBe(
		201,
	);
	const page = await call("GET", link);
	for (const text of [row?.slug, domain?.domain, "Restore the rest"])
		expect(page.body).toContain(text);
	const refused = await press(link);
	expect([refused.status, refused.body.includes(domain?.domain)]).toEqual([409, true]);
	expect((await home.here("GET", "")).status).toBe(404);
	expect((await press(link, true)).status).toBe(200);
	const { body } = await home.here("GET", "");
	expect(body.slug).not.toBe(row?.slug);
	expect(body.slug.startsWith("acme")).toBe(true);
	const { body: left } = await home.here("GET", "/domains");
	expect(left.results.map((one: { domain: string }) => one.domain)).not.toContain(domain?.domain);
	const tokens = await db.all(sql`select 1 from scim_tokens where domain_id = ${home.domain}`);
	expect(tokens).toEqual([]);
});

test("after thirty days the link doesn't work, and nothing is kept", async () => {
	const home = await furnished();
	const link = linkOf(await remove(home));
	pass(30);
	expect((await press(link)).status).toBe(404);
	await purgeDeleted(env, Date.now());
	expect(await leftovers()).toEqual([]);
	expect((await press(link)).status).toBe(404);
	expect(
		await db
			.select()
			.from(auditStreams)
			.where(eq(auditStreams.organization_id, home.organization_id)),
	).toEqual([]);
});

test("files of all its projects are removed with it", async () => {
	const home = await furnished();
	const { body: second } = await home.here("POST", "/projects", { body: { name: "Second" } });
	for (const project of [home.project, second.id])
		await env.EXPORTS.put(`${project}/planted.jsonl`, "planted");
	await remove(home);
	pass(30);
	for (let tick = 0; tick < 3; tick += 1) await purgeDeleted(env, Date.now());
	for (const project of [home.project, second.id])
		expect((await env.EXPORTS.list({ prefix: `${project}/` })).objects).toEqual([]);
	expect(await leftovers()).toEqual([]);
});

test("a restoration that is killed writes all or nothing", async () => {
	const home = await world();
	for (const isWritten of [false, true]) {
		const link = linkOf(await remove(home));
		let batches = 0;
		const killed = call("POST", link, {
			raw: "",
			headers: FORM,
			env: withBatch(async (send) => {
				batches += 1;
				if (batches === 1) return send();
				if (isWritten) await send();
				throw new Error("killed");
			}),
		});
		// The document has no 500, so that a response with it is an error.
		await expect(killed).rejects.toThrow("500");
		expect((await home.here("GET", "")).status).toBe(isWritten ? 200 : 404);
		expect((await press(link)).status).toBe(isWritten ? 404 : 200);
	}
});
