import { eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { call, cost, db, join, racing, times, world } from "../../support/world.ts";

const NOT_ADMIN = "You can only edit others if you are an admin.";
const ABOVE_YOU = "You can only edit others with level lower or equal to you.";
const OWN_LEVEL = "You can't change your own access level.";
const NOT_OWNER = "You can only make another member owner if you're this organization's owner.";
const LAST_OWNER = "Cannot leave the organization as its owner!";

type Joined = Awaited<ReturnType<typeof join>>;

/** An organization with a member of each level, a second admin and a second owner. */
async function people() {
	const organization = await world();
	const [member, admin, admin2, owner2] = await Promise.all([
		join(organization.id, 1),
		join(organization.id, 8),
		join(organization.id, 8),
		join(organization.id, 15),
	]);
	const base = `/api/organizations/${organization.id}/members`;
	const set = (by: Joined, target: { uuid: string }, body: unknown) =>
		call("PATCH", `${base}/${target.uuid}/`, { key: by.key, body });
	const remove = (by: Joined, target: { uuid: string }) =>
		call("DELETE", `${base}/${target.uuid}/`, { key: by.key });
	return { ...organization, member, admin, admin2, owner2, base, set, remove };
}

test("the list shows a member's user and all fields", async () => {
	const { here, owner } = await world();
	const { body } = await here("GET", "/members/");
	const { id, uuid, distinct_id, email } = owner;
	const names = { first_name: "Test", last_name: "", mascot_config: {} };
	expect(body.results).toEqual([
		{
			id: expect.any(String),
			user: { id, uuid, distinct_id, email, is_email_verified: false, ...names },
			level: 15,
			...{ joined_at: expect.any(String), updated_at: expect.any(String) },
			...{ is_2fa_enabled: false, has_social_auth: false },
		},
	]);
});

test("any member lists the active members, newest first", async () => {
	const { base, member, admin, admin2, owner2, owner } = await people();
	const uuids = async (query = "") =>
		(await call("GET", `${base}${query}`, { key: member.key })).body.results.map(
			({ user }: { user: { uuid: string } }) => user.uuid,
		);
	const all = new Set([member, admin, admin2, owner2, owner].map(({ uuid }) => uuid));
	expect(new Set(await uuids())).toEqual(all);
	expect((await uuids()).at(-1)).toBe(owner.uuid);
	expect((await uuids("?order=joined_at"))[0]).toBe(owner.uuid);
	expect(await uuids("?order=-joined_at")).toEqual(await uuids());
	expect(await uuids("?order=joined_at&order=x")).toEqual(await uuids());
	expect(await uuids("?order=nonsense")).toEqual(await uuids());
	await db.update(users).set({ is_active: false }).where(eq(users.id, admin2.id));
	expect(await uuids()).not.toContain(admin2.uuid);
	expect((await call("GET", base, { key: member.key })).body.count).toBe(4);
});

test("the list can be filtered", async () => {
	const { here, id, owner } = await world();
	const ada = await join(id, 1);
	await db
		.update(users)
		.set({ first_name: "Ulla", last_name: "Byron 100%" })
		.where(eq(users.id, ada.id));
	const found = async (query: string) =>
		(await here("GET", `/members?${query}`)).body.results.map(
			({ user }: { user: { uuid: string } }) => user.uuid,
		);
	expect(await found(`email=${ada.email.toUpperCase()}`)).toEqual([ada.uuid]);
	expect(await found(`email=${ada.email.slice(1)}`)).toEqual([]);
	// None of these can be in the random address of the other member.
	for (const search of ["ulla", "BYRON", "a b", "100%25", ada.email.slice(31, 43)])
		expect(await found(`search=${search}`)).toEqual([ada.uuid]);
	expect(await found("search=%25x")).toEqual([]);
	expect(await found("search=")).toHaveLength(2);
	await db.update(users).set({ is_2fa_enabled: true }).where(eq(users.id, ada.id));
	for (const filter of [
		"level=1",
		"is_2fa_enabled=true",
		"level=1&is_2fa_enabled=true&search=ulla",
	])
		expect(await found(filter)).toEqual([ada.uuid]);
	for (const filter of ["level=15", "is_2fa_enabled=false"])
		expect(await found(filter)).toEqual([owner.uuid]);
	expect(await found("level=8")).toEqual([]);
	expect((await here("GET", "/members?level=2")).body).toMatchObject({ attr: "level" });
	const at = "2999-01-01T00:00:00.001Z";
	await db.update(members).set({ updated_at: at }).where(eq(members.user_id, ada.id));
	expect(await found(`updated_after=${at}`)).toEqual([]);
	expect(await found("updated_after=2999-01-01")).toEqual([ada.uuid]);
	expect(await found("updated_after=2020-01-01")).toHaveLength(2);
	expect((await here("GET", "/members?updated_after=soon")).body).toMatchObject({
		code: "invalid_input",
		attr: "updated_after",
	});
	expect((await here("GET", `/members?search=${"x".repeat(201)}`)).body).toMatchObject({
		code: "max_length",
		attr: "search",
	});
	expect((await here("GET", `/members?email=${owner.email}&limit=1`)).body).toMatchObject({
		count: 1,
		next: null,
	});
});

describe("changing a level, in the order of the checks", () => {
	test("is rejected to a member who isn't an admin", async () => {
		const { set, member, owner, admin } = await people();
		expect(await set(member, owner, { level: 1 })).toMatchObject(forbidden(NOT_ADMIN));
		expect(await set(member, admin, { level: "x" })).toMatchObject(forbidden(NOT_ADMIN));
	});

	test("is rejected for a member above the caller", async () => {
		const { set, admin, owner } = await people();
		for (const level of [1, "x"])
			expect(await set(admin, owner, { level })).toMatchObject(forbidden(ABOVE_YOU));
	});

	test("is rejected with an invalid body", async () => {
		const { set, admin, member } = await people();
		for (const [by, target, level, code] of [
			[admin, member, 2, "invalid_choice"],
			[admin, member, "x", "invalid_input"],
			[admin, member, null, "null"],
			[admin, admin, 2, "invalid_choice"],
			[member, member, 2, "invalid_choice"],
		] as const)
			expect((await set(by, target, { level })).body).toMatchObject({ code, attr: "level" });
	});

	test("is rejected for the caller's own level, and to owner unless the caller is one", async () => {
		const { set, admin, member, owner2 } = await people();
		for (const someone of [admin, member, owner2])
			for (const level of [1, 8, 15])
				expect(await set(someone, { uuid: "@me" }, { level })).toMatchObject(forbidden(OWN_LEVEL));
		expect(await set(admin, member, { level: 15 })).toMatchObject(forbidden(NOT_OWNER));
	});

	test("works up to the caller's own level", async () => {
		const { set, admin, admin2, member, owner2, owner } = await people();
		const changed = await set(admin, member, { level: 8 });
		expect(changed).toMatchObject({ status: 200, body: { level: 8, user: { uuid: member.uuid } } });
		expect((await set(admin, admin2, { level: 1 })).body.level).toBe(1);
		expect((await set(owner2, member, { level: 15 })).body.level).toBe(15);
		expect((await set(owner2, owner, { level: 1 })).body.level).toBe(1);
	});

	test("with {} changes nothing, not even updated_at", async () => {
		const { set, admin, member, ask, base } = await people();
		const before = (await ask("GET", `${base}?email=${member.email}`)).body.results[0];
		expect((await set(admin, member, {})).body).toEqual(before);
		expect((await set(admin, member, { level: 1 })).body).toEqual(before);
		const { joined_at } = (await set(admin, member, { joined_at: null, level: 8 })).body;
		expect(joined_at).toBe(before.joined_at);
	});
});

test("an unknown member is not found", async () => {
	const { ask, base } = await people();
	const stranger = await world();
	for (const uuid of [stranger.owner.uuid, "x"])
		for (const [method, body] of [["PATCH", { level: "x" }], ["DELETE"]] as const)
			expect((await ask(method, `${base}/${uuid}`, { body })).status).toBe(404);
});

test("an admin doesn't change the level of somebody who becomes an owner meanwhile", async () => {
	const { base, admin, admin2, ask } = await people();
	const at = `${base}/${admin2.uuid}`;
	const promote = () => ask("PATCH", at, { body: { level: 15 } });
	const response = await call("PATCH", at, {
		key: admin.key,
		body: { level: 1 },
		env: racing(promote),
	});
	expect(response).toMatchObject(forbidden(ABOVE_YOU));
	const its = eq(members.user_id, admin2.id);
	expect(await db.select().from(members).where(its)).toMatchObject([{ level: 15 }]);
});

describe("removing a member", () => {
	test("lets anybody leave except an owner", async () => {
		const { remove, member, admin, owner2, base, ask } = await people();
		for (const someone of [member, admin])
			expect((await remove(someone, { uuid: "@me" })).status).toBe(204);
		expect(await remove(owner2, { uuid: "@me" })).toMatchObject(
			wrong("invalid_input", LAST_OWNER, null),
		);
		expect((await ask("GET", base)).body.count).toBe(3);
		expect((await call("GET", base, { key: member.key })).status).toBe(403);
	});

	test("has the same rules as changing a level", async () => {
		const { remove, member, admin, admin2, owner, owner2 } = await people();
		expect(await remove(member, admin)).toMatchObject(forbidden(NOT_ADMIN));
		expect(await remove(admin, owner)).toMatchObject(forbidden(ABOVE_YOU));
		expect((await remove(owner2, owner)).body.detail).toBe(LAST_OWNER);
		expect((await remove(admin, admin2)).status).toBe(204);
		expect((await remove(admin, member)).status).toBe(204);
		expect((await remove(admin, member)).status).toBe(404);
	});

	test("fails if another request has just removed or promoted the member", async () => {
		const { base, admin, member, admin2, ask } = await people();
		const remove = (uuid: string, between: () => Promise<unknown>) =>
			call("DELETE", `${base}/${uuid}`, {
				key: admin.key,
				env: racing(between),
			});
		const promote = () => ask("PATCH", `${base}/${admin2.uuid}`, { body: { level: 15 } });
		const removeToo = () => ask("DELETE", `${base}/${member.uuid}`);
		expect((await remove(member.uuid, removeToo)).status).toBe(404);
		expect((await remove(admin2.uuid, promote)).body.detail).toBe(ABOVE_YOU);
	});

	test("removes all access to the organization immediately", async () => {
		const { remove, admin, member, id, project, ask } = await people();
		const path = `/api/projects/${project}`;
		await ask("PATCH", path, { body: { access_control: true } });
		await ask("POST", `${path}/members`, { body: { user_uuid: member.uuid, level: 8 } });
		expect((await call("GET", `/api/projects/${project}`, { key: member.key })).status).toBe(200);
		await remove(admin, member);
		expect((await call("GET", `/api/projects/${project}`, { key: member.key })).status).toBe(404);
		expect((await call("GET", `/api/organizations/${id}`, { key: member.key })).status).toBe(404);
		expect((await call("GET", "/api/users/@me", { key: member.key })).body).toMatchObject({
			organization: null,
			project: null,
			organizations: [],
		});
		await db
			.insert(members)
			.values({ organization_id: organizationId(id), user_id: member.id, level: 1 });
		expect((await call("GET", "/api/projects", { key: member.key })).body.count).toBe(0);
	});
});

test("one owner is left when two owners demote and remove each other at once", async () => {
	const { set, remove, owner, owner2, id } = await people();
	await Promise.all([
		set(owner, owner2, { level: 8 }).then(() => remove(owner, owner2)),
		set(owner2, owner, { level: 8 }).then(() => remove(owner2, owner)),
	]);
	const isOfHome = eq(members.organization_id, organizationId(id));
	const rows = await db.select().from(members).where(isOfHome);
	expect(rows.filter(({ level }) => level === 15)).toHaveLength(1);
});

test("level changes and removals are logged", async () => {
	const { set, remove, admin, member, id, ask } = await people();
	await set(admin, member, { level: 8 });
	await remove(admin, member);
	const { body } = await ask("GET", `/api/organizations/${id}/activity_log?scope=Member`);
	const detail = { name: member.email };
	const changes = [{ field: "level", action: "changed", before: 1, after: 8 }];
	expect(body.results).toMatchObject([
		{ activity: "deleted", user: { uuid: admin.uuid }, detail },
		{ activity: "updated", detail: { ...detail, changes } },
	]);
});

test("a large organization doesn't make searching, inviting, joining and reading it cost more", async () => {
	const home = await world();
	await times(1000, (i) => db.insert(users).values({ email: `${home.id}-${i}@tenantry.test` }));
	const at = "2026-01-01T00:00:00.000Z";
	await db.run(sql`insert into members (id, organization_id, user_id, level, joined_at, updated_at)
		select uuid, ${home.organization_id}, id, 1, ${at}, ${at} from users
		where email like ${`${home.id}-%`}`);
	const found = await home.here("GET", `/members?search=${home.id}-`);
	expect([cost(found).trips, found.body.count]).toEqual([1, 1000]);
	await home.here("PATCH", "", { body: { is_member_join_email_enabled: false } });
	const invite = await home.here("POST", "/invites", {
		body: { target_email: `${home.id}-new@tenantry.test`, send_email: false },
	});
	expect(cost(invite).read).toBeLessThan(150);
	const joined = await call("POST", `/api${new URL(invite.body.accept_url).pathname}/accept`);
	expect(joined.status).toBe(200);
	expect(cost(joined).read).toBeLessThan(200);
	expect(cost(await home.here("GET", "")).read).toBeLessThan(20);
});

test("a search finds a new name immediately, and doesn't find people who left or were deactivated", async () => {
	const home = await world();
	const someone = await join(home.id, 1);
	const name = "Zoë Qqx";
	const finds = async () =>
		(await home.here("GET", `/members?search=${encodeURIComponent("zoë qq")}`)).body.count;
	expect(await finds()).toBe(0);
	await db.update(users).set({ first_name: name }).where(eq(users.id, someone.id));
	expect(await finds()).toBe(1);
	await db.update(users).set({ is_active: false }).where(eq(users.id, someone.id));
	expect(await finds()).toBe(0);
	await db.update(users).set({ is_active: true }).where(eq(users.id, someone.id));
	expect(await finds()).toBe(1);
	await home.here("DELETE", `/members/${someone.uuid}`);
	expect(await finds()).toBe(0);
});
