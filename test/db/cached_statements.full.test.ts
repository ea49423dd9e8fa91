import { and, eq, inArray } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { newOrganization } from "../../src/accounts/organizations/queries.ts";
import { organizationId } from "../../src/db/organization_ids.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { inviteMails, invites } from "../../src/db/schema/invites.ts";
import { members } from "../../src/db/schema/members.ts";
import { projects } from "../../src/db/schema/projects.ts";
import { users } from "../../src/db/schema/users.ts";
import { call, db, join, keyFor, person } from "../support/world.ts";

/** An organization of the user, now the current one, with two objects in each list. */
async function place(user_id: number) {
	const id = v7();
	const numbers = [0, 1];
	const [organization, ...rest] = newOrganization(db, user_id, {
		uuid: id,
		name: "Place",
		plugins_access_level: 9,
	});
	await db.batch([organization, ...rest]);
	const [project] = await db
		.select()
		.from(projects)
		.where(eq(projects.organization_id, organizationId(id)));
	if (!project) throw new Error("No project was created.");
	const { organization_id } = project;
	const others = numbers.slice(1).map(() => ({ organization_id, name: "Other" }));
	const more = await db.insert(projects).values(others).returning();
	const domainNames = numbers.map((i) => `${i}-${id}.example.com`);
	const exportIds = numbers.map(() => v7());
	const inviteIds = numbers.map(() => v7());
	await db.insert(domains).values(
		domainNames.map((domain) => ({
			id: v7(),
			organization_id,
			domain,
			verification_challenge: v7(),
		})),
	);
	await db.insert(invites).values(
		inviteIds.map((invite) => ({
			id: invite,
			organization_id,
			target_email: `${invite}@tenantry.test`,
			created_by: user_id,
			emailing_attempt_made: false,
			private_project_access: [{ id: project.id, level: 1 }],
			token_hash: v7(),
		})),
	);
	await db.insert(batchExports).values(
		exportIds.map((id_) => ({
			uuid: id_,
			organization_id,
			project_id: project.id,
			name: "Export",
			destination: { type: "NoOp" as const, config: {} },
			interval: "hour" as const,
			next_start_at: "2026-01-01T00:00:00.000Z",
			next_end_at: "9999-01-01T00:00:00.000Z",
			due_at: "9999-01-01T00:00:00.000Z",
		})),
	);
	const joined = await Promise.all(numbers.slice(1).map(() => join(id, 1)));
	return {
		id,
		organization_id,
		project: project.id,
		lists: {
			members: [user_id, ...joined.map((one) => one.id)].reverse(),
			domains: domainNames,
			invites: inviteIds.toReversed(),
			batch_exports: exportIds.toReversed(),
			projects: [project, ...more].map((one) => one.id).reverse(),
		},
	};
}

type Place = Awaited<ReturnType<typeof place>>;
type List = keyof Place["lists"];

const LISTS: List[] = ["members", "domains", "invites", "batch_exports", "projects"];

/**
 * A user with two organizations, of which the second is the current one, and keys with each
 * restriction.
 */
async function caller() {
	const { id, uuid } = await person();
	const [first, second] = [await place(id), await place(id)];
	const keys = {
		any: await keyFor(id),
		organization: await keyFor(id, { scoped_organizations: [first.id] }),
		project: await keyFor(id, { scoped_projects: [first.project] }),
	};
	return { id, uuid, first, second, keys };
}

type Caller = Awaited<ReturnType<typeof caller>>;

/** What a request must return: the objects of a list, a single object, or an error. */
type Case = { key: string; path: string; expected: unknown[] | 403 | 404 };

/** The requests of a caller, and of a stranger with the same kind of key. */
function casesOf({ uuid, first, second, keys }: Caller, stranger: Caller): Case[] {
	const cases: Case[] = [];
	const add = (key: string, path: string, expected: Case["expected"]) =>
		cases.push({ key, path, expected });
	for (const list of LISTS)
		for (const [name, to] of [
			[first.id, first],
			[second.id, second],
			["@current", second],
		] as const) {
			const path = `/api/organizations/${name}/${list}`;
			add(keys.any, path, to.lists[list]);
			add(keys.organization, path, to === first ? first.lists[list] : 403);
			add(keys.project, path, 403);
			if (name !== "@current") add(stranger.keys.any, path, 403);
		}
	for (const [name, to] of [
		[first.id, first],
		[second.id, second],
		["@current", second],
	] as const) {
		const path = `/api/organizations/${name}`;
		add(keys.any, path, [to.id]);
		add(keys.organization, path, to === first ? [first.id] : 403);
		add(keys.project, path, 403);
		if (name !== "@current") add(stranger.keys.any, path, 404);
	}
	for (const key of Object.values(keys)) {
		add(key, "/api/users/@me", [uuid]);
		add(key, `/api/users/${uuid.toUpperCase()}`, [uuid]);
	}
	add(stranger.keys.any, `/api/users/${uuid}`, 404);
	add(keys.any, "/api/organizations", [second.id, first.id]);
	add(keys.organization, "/api/organizations", [first.id]);
	add(keys.project, "/api/organizations", 403);
	add(keys.any, "/api/projects", [...second.lists.projects, ...first.lists.projects]);
	add(keys.organization, "/api/projects", first.lists.projects);
	add(keys.project, "/api/projects", [first.project]);
	for (const [name, to] of [
		[first.project, first],
		[second.project, second],
		["@current", second],
	] as const) {
		add(keys.any, `/api/projects/${name}`, [to.project]);
		add(keys.organization, `/api/projects/${name}`, to === first ? [first.project] : 403);
		add(keys.project, `/api/projects/${name}`, to === first ? [first.project] : 403);
		if (name !== "@current") add(stranger.keys.any, `/api/projects/${name}`, 404);
		const path = `/api/projects/${name}/batch_exports`;
		add(keys.any, path, to.lists.batch_exports);
		add(keys.organization, path, to === first ? first.lists.batch_exports : 403);
		add(keys.project, path, to === first ? first.lists.batch_exports : 403);
		if (name !== "@current") add(stranger.keys.any, path, 403);
	}
	return cases;
}

/** Sends the request, and returns what it got instead, if that is something else. */
async function mistake({ key, path, expected }: Case) {
	const { status, body } = await call("GET", path, { key });
	const identify = (row: Record<string, unknown> & { user?: { email: string } }) =>
		row.user?.email ?? row.domain ?? ("organizations" in row ? row.uuid : row.id);
	const got = status === 200 ? (body.results ?? [body]).map(identify) : status;
	const isCounted = body.results === undefined || body.count === body.results.length;
	const isRight = JSON.stringify(got) === JSON.stringify(expected) && isCounted;
	return isRight ? [] : [{ path, expected, got, count: body.count }];
}

/** Members are told by their addresses. */
async function withAddresses({ expected, ...rest }: Case): Promise<Case> {
	if (typeof expected === "number" || !rest.path.endsWith("/members")) return { ...rest, expected };
	const rows = await Promise.all(
		expected.map((id) =>
			db
				.select()
				.from(users)
				.where(eq(users.id, Number(id))),
		),
	);
	return { ...rest, expected: rows.flat().map(({ email }) => email) };
}

describe("requests that share cached statements", () => {
	test("get what their own key, organization and restrictions allow, however they take turns", async () => {
		const [one, other] = [await caller(), await caller()];
		const cases = await Promise.all(
			[...casesOf(one, other), ...casesOf(other, one)].map(withAddresses),
		);
		// Each request follows one of another caller, key or path.
		const requests = cases.flatMap((_, i) => cases.at((i * 31) % cases.length) ?? []);
		expect(new Set(requests).size).toBe(cases.length);
		expect(await Promise.all(requests.map(mistake))).toEqual(requests.map(() => []));
	});

	test("get the same as from statements that are built anew", async () => {
		const { first, keys } = await caller();
		const bases = LISTS.map((list) => `/api/organizations/${first.id}/${list}`);
		for (const path of [...bases, "/api/organizations", "/api/projects"]) {
			const [cached, anew] = await Promise.all(
				["", "?offset=1"].map((query) => call("GET", `${path}${query}`, { key: keys.any })),
			);
			expect(anew?.body.results.length).toBeGreaterThan(0);
			expect(anew?.body.count).toBe(cached?.body.count);
			expect(JSON.stringify(anew?.body.results)).toBe(
				JSON.stringify(cached?.body.results.slice(1)),
			);
		}
	});
});

/**
 * A change that a caller tries, and what the activity log must have of it; null if it is rejected.
 */
type Write = {
	key: string;
	method: string;
	path: string;
	body?: object;
	/** The address that it invites. */
	invited?: string;
	/**
	 * The member that it is about, and the level that the member has afterwards; null: none, since it
	 * was removed.
	 */
	member?: { organization_id: number; user_id: number; level: number | null };
	logged: {
		organization_id: number;
		project_id: number | null;
		user_id: number;
		name: string;
	} | null;
};

/**
 * The changes of a caller, and of a stranger with the same kind of key.
 * @param shared an address that is invited to each organization, and twice to the second
 */
async function writesOf(
	{ id, first, second, keys }: Caller,
	stranger: Caller,
	shared: string,
): Promise<Write[]> {
	const writes: Write[] = [];
	for (const [named, to] of [
		[first.id, first],
		[second.id, second],
		["@current", second],
	] as const)
		for (const [kind, key] of Object.entries({ ...keys, stranger: stranger.keys.any })) {
			if (kind === "stranger" && named === "@current") continue;
			const isAllowed = kind === "any" || (kind === "organization" && to === first);
			const target_email = kind === "any" ? shared : `${v7()}@tenantry.test`;
			const { id: user_id, email, uuid } = await join(to.id, 1);
			const member = (level: number | null) => ({
				organization_id: to.organization_id,
				user_id,
				level: isAllowed ? level : 1,
			});
			const logged = (name: string) =>
				isAllowed
					? { organization_id: to.organization_id, project_id: null, user_id: id, name }
					: null;
			const path = `/api/organizations/${named}`;
			writes.push(
				{
					key,
					method: "POST",
					path: `${path}/invites`,
					body: { target_email },
					invited: target_email,
					logged: logged(target_email),
				},
				{
					key,
					method: "PATCH",
					path: `${path}/members/${uuid}`,
					body: { level: 8 },
					member: member(8),
					logged: logged(email),
				},
				{
					key,
					method: "DELETE",
					path: `${path}/members/${uuid}`,
					member: member(null),
					logged: logged(email),
				},
			);
		}
	for (const [kind, key] of Object.entries({ ...keys, stranger: stranger.keys.any })) {
		const name = v7();
		const logged =
			kind === "stranger"
				? null
				: { organization_id: first.organization_id, project_id: first.project, user_id: id, name };
		const path = `/api/projects/${first.project}`;
		writes.push({ key, method: "PATCH", path, body: { name }, logged });
	}
	return writes;
}

/** The level of a member; null if there is none. */
async function levelOf({ organization_id, user_id }: { organization_id: number; user_id: number }) {
	const isMember = and(eq(members.organization_id, organization_id), eq(members.user_id, user_id));
	const [row] = await db.select({ level: members.level }).from(members).where(isMember);
	return row?.level ?? null;
}

/**
 * The invites and the mails of an organization: the address, and who invites; for mails, how many
 * there are.
 */
async function invitedTo(organization_id: number) {
	const rows = await db
		.select({ email: invites.target_email, created_by: invites.created_by })
		.from(invites)
		.where(eq(invites.organization_id, organization_id))
		.orderBy(invites.target_email);
	const mails = await db.$count(inviteMails, eq(inviteMails.organization_id, organization_id));
	return { rows, mails };
}

/** What these must be after the changes. */
function expectedAt({ organization_id, lists }: Place, created_by: number, writes: Write[]) {
	const invited = writes.flatMap(({ invited, logged }) =>
		invited && logged?.organization_id === organization_id ? invited : [],
	);
	const before = lists.invites.map((invite) => `${invite}@tenantry.test`);
	const rows = [...new Set([...before, ...invited])].sort();
	return { rows: rows.map((email) => ({ email, created_by })), mails: invited.length };
}

describe("writes that share cached statements", () => {
	test("change and log what their own key, organization and restrictions allow, however they take turns", async () => {
		const callers = [await caller(), await caller()] as const;
		const [one, other] = callers;
		const shared = `${v7()}@tenantry.test`;
		const writes = [
			await writesOf(one, other, shared),
			await writesOf(other, one, shared),
		] as const;
		// Each follows one of the other caller.
		const turns = writes[0].flatMap((write, i) => [write, ...writes[1].slice(i, i + 1)]);
		for (const { key, method, path, body, member, logged } of turns) {
			const { status } = await call(method, path, { key, ...(body && { body }) });
			expect({ method, path, isDone: status < 300 }).toEqual({
				method,
				path,
				isDone: logged !== null,
			});
			if (member) expect([path, await levelOf(member)]).toEqual([path, member.level]);
		}
		for (const [i, { id, first, second }] of callers.entries()) {
			for (const place of [first, second])
				expect(await invitedTo(place.organization_id)).toEqual(
					expectedAt(place, id, writes[i] ?? []),
				);
			const entries = await db
				.select({
					organization_id: activityLog.organization_id,
					project_id: activityLog.project_id,
					user_id: activityLog.user_id,
					name: activityLog.name,
				})
				.from(activityLog)
				.where(
					inArray(activityLog.organization_id, [first.organization_id, second.organization_id]),
				)
				.orderBy(activityLog.position);
			expect(entries).toEqual(writes[i]?.flatMap(({ logged }) => logged ?? []));
		}
	});
});
