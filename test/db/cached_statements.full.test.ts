import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { invites, members } from "../../src/db/schema/people.ts";
import { call, db, furnished, join, keyFor, world } from "../support/world.ts";

/**
 * A user who owns two organizations, of which the second is the current one, and keys that reach
 * both, the first, and the first one's project.
 */
async function caller() {
	const first = await furnished();
	const { body } = await first.ask("POST", "/api/organizations", { body: { name: "Second" } });
	const second: string = body.id;
	const made = await first.ask("POST", "/api/projects", {
		body: { name: "Second", organization: second },
	});
	const domain = `${second}.example.com`;
	await first.ask("POST", `/api/organizations/${second}/domains`, { body: { domain } });
	const { id } = first.owner;
	return {
		user_id: id,
		first: first.id,
		second,
		project: first.project,
		exported: first.batch_export,
		domains: [`${first.domain}.example.com`, domain] as const,
		projects: [first.project, body.teams[0].id, made.body.id] as const,
		keys: {
			any: first.key,
			organization: await keyFor(id, { scoped_organizations: [first.id] }),
			project: await keyFor(id, { scoped_projects: [first.project] }),
		},
	};
}

type Caller = Awaited<ReturnType<typeof caller>>;

/** What requests must return: the domains or the ids of a list, or the status of an error. */
function readsOf(
	{ first, second, project, exported, domains, projects, keys }: Caller,
	stranger: Caller,
) {
	const [one, two, three] = projects;
	const restricted = [keys.any, keys.organization, keys.project, stranger.keys.any];
	const rows: [path: string, ...expected: unknown[]][] = [
		[`/api/organizations/${first}/domains`, [domains[0]], [domains[0]], 403, 403],
		[`/api/organizations/${second}/domains`, [domains[1]], 403, 403, 403],
		["/api/organizations/@current/domains", [domains[1]], 403, 403, [stranger.domains[1]]],
		[`/api/organizations/${first}/projects`, [one], [one], 403, 403],
		["/api/projects", [three, two, one], [one], [one], stranger.projects.toReversed()],
		["/api/organizations", [second, first], [first], 403, [stranger.second, stranger.first]],
		[`/api/projects/${project}/batch_exports`, [exported], [exported], [exported], 403],
	];
	return rows.flatMap(([path, ...expected]) =>
		restricted.map((key, i) => ({ path, key, expected: expected[i] })),
	);
}

test("requests that share cached statements get what their own key, organization and restrictions allow, however they take turns", async () => {
	const [one, other] = [await caller(), await caller()];
	const reads = [...readsOf(one, other), ...readsOf(other, one)];
	// Each request follows one of another caller, key or path.
	const turns = reads.flatMap((_, i) => reads.at((i * 31) % reads.length) ?? []);
	expect(new Set(turns).size).toBe(reads.length);
	await Promise.all(
		turns.map(async ({ path, key, expected }) => {
			const { status, body } = await call("GET", path, { key });
			const found = body.results?.map(
				(row: { domain?: string; id: unknown }) => row.domain ?? row.id,
			);
			expect([path, found ?? status]).toEqual([path, expected]);
			if (found) expect(body.count).toBe(found.length);
		}),
	);
});

test("writes that share cached statements change and log what their own key, organization and restrictions allow, however they take turns", async () => {
	const callers = [await caller(), await caller()] as const;
	const email = `${crypto.randomUUID()}@tenantry.test`;
	for (const { first, user_id, keys } of [...callers, ...callers])
		for (const [kind, key] of Object.entries(keys)) {
			const isAllowed = kind !== "project";
			const { id, uuid } = await join(first, 1);
			const its = eq(members.user_id, id);
			const levels = () => db.select({ level: members.level }).from(members).where(its);
			const path = `/api/organizations/${first}`;
			const change = { key, body: { level: 8 } };
			const patched = await call("PATCH", `${path}/members/${uuid}`, change);
			expect([patched.status, await levels()]).toEqual(
				isAllowed ? [200, [{ level: 8 }]] : [403, [{ level: 1 }]],
			);
			const invited = await call("POST", `${path}/invites`, {
				key,
				body: { target_email: email, send_email: false },
			});
			expect(invited.status).toBe(isAllowed ? 201 : 403);
			const ofOwner = and(eq(invites.target_email, email), eq(invites.created_by, user_id));
			expect(await db.$count(invites, ofOwner)).toBe(1);
			await call("DELETE", `${path}/members/${uuid}`, { key });
			expect(await levels()).toHaveLength(isAllowed ? 0 : 1);
		}
	const home = await world();
	for (const { user_id, keys, project } of callers) {
		const logged = () => db.$count(activityLog, eq(activityLog.user_id, user_id));
		const before = await logged();
		for (const key of [...Object.values(keys), home.key])
			await call("PATCH", `/api/projects/${project}`, { key, body: { name: crypto.randomUUID() } });
		expect((await logged()) - before).toBe(3);
	}
});

test("requests get the same from cached statements as from those that are built anew", async () => {
	const { first, keys } = await caller();
	const bases = ["members", "domains", "invites", "batch_exports", "projects"];
	const paths = bases.map((list) => `/api/organizations/${first}/${list}`);
	for (const path of [...paths, "/api/organizations", "/api/projects"]) {
		const get = (query: string) => call("GET", path + query, { key: keys.any });
		const [cached, anew] = [await get(""), await get("?offset=1")];
		expect([path, anew.body.count]).toEqual([path, cached.body.count]);
		expect(anew.body.results).toEqual(cached.body.results.slice(1));
	}
});
