import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { AUDITOR } from "../../../src/db/schema/access.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { members, projectMembers } from "../../../src/db/schema/people.ts";
import { scimGroups, scimUsers } from "../../../src/db/schema/scim.ts";
import { ERROR, GROUP, ignoredAt, provisioned, startsOf } from "../../support/scim.ts";
import { cost, db, join, racing } from "../../support/world.ts";
import { accept, createInvite } from "../invites/support.ts";

const log = (organization_id: number) =>
	db
		.select()
		.from(activityLog)
		.where(eq(activityLog.organization_id, organization_id))
		.orderBy(activityLog.position);

const add = (value: unknown) => ({ op: "Add", path: "members", value });
const remove = (id: string) => ({ op: "Remove", path: `members[value eq "${id}"]` });
const rename = (value: unknown) => ({ op: "replace", path: "displayName", value });

/** Returns the projects of a person with their levels. */
const projectsOf = async (user_id: number) =>
	Object.fromEntries(
		(await db.select().from(projectMembers).where(eq(projectMembers.user_id, user_id))).map(
			({ project_id, level }) => [project_id, level],
		),
	);

test("a group is created, found, renamed and deleted, with its members", async () => {
	const home = await provisioned();
	const [ada, bob] = [await home.add(), await home.add()];
	const { status, headers, body } = await home.scim("POST", "/Groups", {
		body: {
			schemas: [GROUP],
			displayName: "Engineering",
			externalId: "g1",
			members: [{ value: ada.id, display: "Ada" }],
		},
	});
	expect(status).toBe(201);
	const path = `/Groups/${body.id}`;
	expect(headers.get("location")).toBe(`https://tenantry.test/scim/v2/${home.domain_id}${path}`);
	expect(body).toMatchObject({
		displayName: "Engineering",
		externalId: "g1",
		members: [{ value: ada.id, type: "User" }],
	});
	expect((await home.scim("GET", path)).body).toEqual(body);
	expect((await home.scim("GET", `/Users/${ada.id}`)).body.groups).toMatchObject([
		{ value: body.id, display: "Engineering" },
	]);
	const put = await home.scim("PUT", path, {
		body: { displayName: "Makers", members: [{ value: bob.id }] },
	});
	expect(put.body).toMatchObject({ displayName: "Makers", members: [{ value: bob.id }] });
	expect(put.body).not.toHaveProperty("externalId");
	expect((await home.scim("DELETE", path)).status).toBe(204);
	expect((await home.scim("GET", path)).status).toBe(404);
	const entries = (await log(home.organization_id)).filter(({ scope }) => scope === "ScimGroup");
	expect(entries.map(({ activity }) => activity)).toEqual(["created", "updated", "deleted"]);
});

test("a mapped group gives its members a level and projects at once, and takes them back", async () => {
	const home = await provisioned();
	const [ada, bob] = [await home.employee(), await home.employee()];
	const group = await home.group("Admins", [ada.uuid]);
	const grants = { level: 8, projects: [{ id: home.project, level: 1 }] };
	const granted = await home.grant(group.id, grants);
	expect(granted).toMatchObject({ status: 200, body: { ...grants, members: 1 } });
	expect((await home.member(ada.email)).level).toBe(8);
	expect(await projectsOf(ada.id)).toEqual({ [home.project]: 1 });
	const path = `/Groups/${group.id}`;
	await home.patch(path, add([{ value: bob.uuid }]));
	expect((await home.member(bob.email)).level).toBe(8);
	await home.patch(path, remove(ada.uuid));
	expect((await home.member(ada.email)).level).toBe(1);
	expect(await projectsOf(ada.id)).toEqual({});
	await home.grant(group.id, { level: null });
	expect((await home.member(bob.email)).level).toBe(1);
	expect(await projectsOf(bob.id)).toEqual({ [home.project]: 1 });
	await home.scim("DELETE", `/Groups/${group.id}`);
	expect(await projectsOf(bob.id)).toEqual({});
	const ofAda = (await log(home.organization_id)).filter(
		({ name, scope }) => name === ada.email && scope !== "User",
	);
	expect(ofAda.map(({ scope, activity }) => `${scope} ${activity}`)).toEqual([
		"Member updated",
		"ProjectMember created",
		"Member updated",
		"ProjectMember deleted",
	]);
	expect(ofAda[0]).toMatchObject({
		user_id: home.owner.id,
		trigger: { job_type: "scim", group_id: group.id },
	});
	expect(ofAda[2]).toMatchObject({ user_id: null, trigger: { job_type: "scim" } });
});

test("what people gave by hand stays when a group is left", async () => {
	const home = await provisioned();
	const [raised, lowered] = [await home.employee(8), await home.employee()];
	await db.insert(projectMembers).values({
		project_id: home.project,
		organization_id: home.organization_id,
		user_id: raised.id,
		level: 8,
	});
	const ids = [raised.uuid, lowered.uuid];
	const group = await home.group("Team", ids);
	await home.grant(group.id, { level: 8, projects: [{ id: home.project, level: 1 }] });
	expect(await projectsOf(raised.id)).toEqual({ [home.project]: 8 });
	const late = await home.employee();
	await home.patch(`/Groups/${group.id}`, add([{ value: late.uuid }]));
	// Raised by hand while in the group, beyond what it gives.
	await db.update(members).set({ level: 15 }).where(eq(members.user_id, late.id));
	await home.scim("PUT", `/Groups/${group.id}`, { body: { displayName: "Team", members: [] } });
	expect((await home.member(raised.email)).level).toBe(8);
	expect(await projectsOf(raised.id)).toEqual({ [home.project]: 8 });
	expect((await home.member(lowered.email)).level).toBe(1);
	expect(await projectsOf(lowered.id)).toEqual({});
	expect((await home.member(late.email)).level).toBe(15);
});

test("of several groups, the highest level counts, until the last is left", async () => {
	const home = await provisioned();
	const ada = await home.employee();
	const [admins, others] = [await home.group("A", [ada.uuid]), await home.group("B", [ada.uuid])];
	await home.grant(admins.id, { level: 8, projects: [{ id: home.project, level: 1 }] });
	await home.grant(others.id, { level: 1, projects: [{ id: home.project, level: 8 }] });
	expect(await projectsOf(ada.id)).toEqual({ [home.project]: 8 });
	await home.scim("DELETE", `/Groups/${others.id}`);
	expect((await home.member(ada.email)).level).toBe(8);
	expect(await projectsOf(ada.id)).toEqual({ [home.project]: 1 });
});

test("an owner keeps the level, whatever groups grant or take", async () => {
	const home = await provisioned();
	const owner = await home.employee(15);
	const group = await home.group("All", [owner.uuid]);
	for (const level of [1, 8, null]) {
		await home.grant(group.id, { level });
		expect((await home.member(owner.email)).level).toBe(15);
	}
	await home.scim("DELETE", `/Groups/${group.id}`);
	expect((await home.member(owner.email)).level).toBe(15);
});

test("whoever is activated again gets what their groups grant now", async () => {
	const home = await provisioned();
	const ada = await home.add();
	const group = await home.group("Admins", [ada.id]);
	const path = `/Users/${ada.id}`;
	await home.patch(path, { op: "replace", path: "active", value: false });
	await home.grant(group.id, { level: 8 });
	expect(await home.member(ada.userName)).toBeUndefined();
	await home.patch(path, { op: "replace", path: "active", value: true });
	expect((await home.member(ada.userName)).level).toBe(8);
	await home.patch(path, { op: "replace", path: "active", value: false });
	await home.scim("DELETE", `/Groups/${group.id}`);
	await home.patch(path, { op: "replace", path: "active", value: true });
	expect((await home.member(ada.userName)).level).toBe(1);
});

test("parallel changes of two groups lose nothing", async () => {
	const home = await provisioned();
	const ada = await home.employee();
	const groups = [await home.group("A"), await home.group("B")];
	await home.grant(groups[0].id, { level: 8 });
	await home.grant(groups[1].id, { projects: [{ id: home.project, level: 1 }] });
	const all = (op: string) =>
		Promise.all(
			groups.map(({ id }) =>
				home.patch(`/Groups/${id}`, { op, path: "members", value: [{ value: ada.uuid }] }),
			),
		);
	await all("add");
	expect((await home.member(ada.email)).level).toBe(8);
	expect(await projectsOf(ada.id)).toEqual({ [home.project]: 1 });
	await all("remove");
	expect((await home.member(ada.email)).level).toBe(1);
	expect(await projectsOf(ada.id)).toEqual({});
	const [row] = await db.select().from(scimUsers).where(eq(scimUsers.user_id, ada.id));
	expect(row).toMatchObject({
		manual: { level: 1, projects: {} },
		granted: { level: 0, projects: {} },
	});
});

test("only admins map groups, to what there is: no owners, no other organization's projects", async () => {
	const [home, other] = [await provisioned(), await provisioned()];
	const group = await home.group("Team");
	for (const [body, attr] of [
		[{ level: 15 }, "level"],
		[{ projects: [{ id: other.project, level: 1 }] }, "projects__0__id"],
		[{ projects: [{ id: home.project, level: 15 }] }, "projects__0__level"],
	] as const)
		expect(await home.grant(group.id, body)).toMatchObject({ status: 400, body: { attr } });
	const member = await join(home.id, 1);
	for (const [method, path] of [
		["PATCH", `/groups/${group.id}`],
		["GET", "/groups"],
		["GET", "/requests"],
		["GET", "/tokens"],
		["POST", "/tokens"],
	] as const) {
		const body = method === "PATCH" ? { level: 8 } : undefined;
		const mine = await home.here(method, home.at + path, { key: member.key, body });
		const foreign = await other.here(method, home.at + path, { body });
		expect([path, mine.status, foreign.status]).toEqual([path, 403, 404]);
	}
});

test("members have to be users of this directory", async () => {
	const [home, other] = [await provisioned(), await provisioned()];
	const theirs = await other.add();
	for (const value of [theirs.id, home.owner.uuid, "nobody"]) {
		const { status, body } = await home.scim("POST", "/Groups", {
			body: { displayName: "Team", members: [{ value }] },
		});
		expect([status, body.scimType]).toEqual([400, "invalidValue"]);
	}
	const group = await home.group("Team");
	const added = await home.patch(`/Groups/${group.id}`, add([{ value: theirs.id }]));
	expect([added.status, added.body.schemas]).toEqual([400, [ERROR]]);
	expect((await other.scim("GET", `/Groups/${group.id}`)).status).toBe(404);
	expect((await other.scim("DELETE", `/Groups/${group.id}`)).status).toBe(404);
});

test("a change of a large group is two round trips, and takes 2,000 members", async () => {
	const home = await provisioned();
	const ada = await home.add();
	const group = await home.group("Team", [ada.id]);
	await home.grant(group.id, { level: 8 });
	const others = Array.from({ length: 2_000 }, () => ({ value: crypto.randomUUID() }));
	const { status, body } = await home.scim("PUT", `/Groups/${group.id}`, {
		body: { displayName: "Team", members: [{ value: ada.id }, ...others] },
	});
	expect([status, body.scimType]).toEqual([400, "tooMany"]);
	expect(cost(await home.patch(`/Groups/${group.id}`, rename("New"))).trips).toBe(2);
	expect(cost(await home.scim("GET", "/Groups")).trips).toBe(1);
	const lean = await home.scim("GET", `/Groups/${group.id}?excludedAttributes=members`);
	expect(lean.body).not.toHaveProperty("members");
});

test("a domain has at most 1,000 groups, also if two are created at once", async () => {
	const home = await provisioned();
	const rows = Array.from({ length: 999 }, (_, i) => ({
		domain_id: home.domain_id,
		id: v7(),
		display_name: `Group ${i}`,
	}));
	for (let i = 0; i < rows.length; i += 12)
		await db.insert(scimGroups).values(rows.slice(i, i + 12));
	const create = (displayName: string) => home.scim("POST", "/Groups", { body: { displayName } });
	const results = await Promise.all([create("One more"), create("Another")]);
	expect(results.map(({ status }) => status).sort()).toEqual([201, 409]);
	expect(results.find(({ status }) => status === 409)?.body.schemas).toEqual([ERROR]);
});

test("a name belongs to one group of a domain, in any case, also if two are created or renamed at once", async () => {
	const [home, other] = [await provisioned(), await provisioned()];
	const create = (displayName: string, { scim } = home) =>
		scim("POST", "/Groups", { body: { displayName } });
	const results = await Promise.all(Array.from({ length: 5 }, () => create("Größe")));
	expect(results.map(({ status, body }) => body.scimType ?? status).sort()).toEqual([
		201,
		...Array(4).fill("uniqueness"),
	]);
	expect((await create("GRÖSSE")).status).toBe(409);
	expect((await create("Größe", other)).status).toBe(201);
	const group = await home.group("Team");
	const path = `/Groups/${group.id}`;
	const ada = await home.add();
	for (const send of [
		() => home.patch(path, rename("größe")),
		() => home.patch(path, add([{ value: ada.id }]), rename("größe")),
		() => home.scim("PUT", path, { body: { displayName: "Größe" } }),
	]) {
		const { status, body } = await send();
		expect([status, body.scimType]).toEqual([409, "uniqueness"]);
	}
	const { body } = await home.scim("GET", path);
	expect([body.displayName, body.members]).toEqual(["Team", []]);
	// In another case, it is still its own name.
	expect((await home.patch(path, rename("TEAM"))).body.displayName).toBe("TEAM");
	const letters = String.fromCodePoint(...Array.from({ length: 255 }, (_, i) => 0x391 + i));
	expect([(await create(letters)).status, (await create(letters)).status]).toEqual([201, 409]);
	const long = await create("x".repeat(300));
	expect([long.status, long.body.displayName]).toEqual([201, "x".repeat(255)]);
	expect((await create("x".repeat(256))).status).toBe(409);
});

/** A PATCH in which Ada leaves a group, or a PUT: what it holds besides, and what the log names. */
const LEAVING: [string, (ada: string, bob: string) => object, string[]][] = [
	[
		"an unknown member",
		(ada) => ({ Operations: [add([{ value: "x" }]), remove(ada)] }),
		["members: This"],
	],
	["a new member", (ada, bob) => ({ Operations: [add([{ value: bob }]), remove(ada)] }), []],
	[
		"a name that is taken",
		(ada) => ({ Operations: [remove(ada), rename("Others")] }),
		["displayName: There"],
	],
	["no name", (ada) => ({ Operations: [remove(ada), rename("")] }), ["displayName: This"]],
	[
		"other operations",
		(ada) => ({ Operations: [{ op: "move" }, add(5), add([{}]), remove(ada)] }),
		["Operations.0.op", "members: An item", "members: An item"],
	],
	["no attributes", () => ({}), ["displayName: This"]],
	[
		"unknown members",
		() => ({ members: [{ value: "x" }] }),
		["displayName: This", "members: This"],
	],
	[
		"too many members",
		() => ({ members: Array.from({ length: 2_001 }, (_, i) => ({ value: `${i}` })) }),
		["displayName: This", "members: A group", "members: This"],
	],
];

test("whoever leaves a group loses what it gave, whatever else the request holds", async () => {
	const home = await provisioned();
	await home.group("Others");
	const bob = await home.employee();
	const paths: string[] = [];
	for (const [what, bodyOf] of LEAVING) {
		const ada = await home.employee();
		const group = await home.group(what, [ada.uuid]);
		await home.grant(group.id, { level: 8 });
		const path = `/Groups/${group.id}`;
		paths.push(path);
		const body = bodyOf(ada.uuid, bob.uuid);
		const response = await home.scim("Operations" in body ? "PATCH" : "PUT", path, { body });
		const { level } = await home.member(ada.email);
		expect([what, response.status, response.body.displayName, level]).toEqual([what, 200, what, 1]);
	}
	expect((await home.member(bob.email)).level).toBe(8);
	const ignored = await ignoredAt(home, paths);
	for (const [i, [what, , expected]] of LEAVING.entries())
		expect([what, startsOf(ignored[i], expected)]).toEqual([what, expected]);
});

test("a PATCH removes members as Okta and the standard name them, and takes thousands of operations", async () => {
	const home = await provisioned();
	const people = await Promise.all(Array.from({ length: 6 }, () => home.add()));
	const ids: string[] = people.map(({ id }) => id);
	const group = await home.group("Team", ids);
	const left = async (...operations: object[]) => {
		const { status, body } = await home.patch(`/Groups/${group.id}`, ...operations);
		expect(status).toBe(200);
		return body.members.map(({ value }: { value: string }) => ids.indexOf(value)).sort();
	};
	const [a, b, c, d, e] = ids;
	const at = (...values: (string | undefined)[]) =>
		values.map((value) => `value eq "${value?.toUpperCase()}"`).join(" or ");
	expect(await left({ op: "remove", path: `members[${at(a, b)}]` })).toEqual([2, 3, 4, 5]);
	expect(await left({ op: "remove", path: `members[(${at(c)})].value` })).toEqual([3, 4, 5]);
	expect(await left({ op: "remove", path: "members.value", value: d })).toEqual([4, 5]);
	expect(await left({ op: "add", path: "members.value", value: [a, b] })).toEqual([0, 1, 4, 5]);
	const others = Array.from({ length: 5_000 }, () => crypto.randomUUID());
	expect(
		await left(
			...others.map((id) => ({ op: "remove", path: `members[value eq "${id}"]` })),
			{ op: "remove", path: "members", value: others.slice(0, 1_000).map((value) => ({ value })) },
			{ op: "remove", path: `members[${at(...others.slice(0, 3_000), e, b)}]` },
		),
	).toEqual([0, 5]);
	for (const path of ['members[display eq "x"]', 'members[value ne "x"]', "members[value]"]) {
		const { status, body } = await home.patch(`/Groups/${group.id}`, { op: "remove", path });
		expect([status, body.scimType]).toEqual([400, "invalidPath"]);
	}
	expect(await left({ op: "Remove", path: "members", value: null })).toEqual([]);
});

test("groups are found by their members, names and times", async () => {
	const home = await provisioned();
	const [ada, bob] = [await home.add(), await home.add()];
	await home.group("Both", [ada.id, bob.id]);
	await home.group("One", [ada.id]);
	const empty = await home.group("None", [], { externalId: "g" });
	for (const [filter, expected] of [
		[`members eq "${bob.id.toUpperCase()}"`, ["Both"]],
		[`not (members.value eq "${bob.id}")`, ["One", "None"]],
		[`members[value eq "${bob.id}"]`, ["Both"]],
		['members pr and displayName ne "both"', ["One"]],
		["externalId pr", ["None"]],
		[`meta.created lt "${empty.meta.created}"`, ["Both", "One"]],
		['displayName ew "E"', ["One", "None"]],
	] as const) {
		const { body } = await home.scim("GET", `/Groups?filter=${encodeURIComponent(filter)}`);
		const found = body.Resources.map(({ displayName }: { displayName: string }) => displayName);
		expect([filter, found]).toEqual([filter, expected]);
	}
});

/** How providers change the members of a group. */
const STYLES: [string, (id: string) => Record<"add" | "remove", [string, object]>][] = [
	[
		"PATCH with a path (Entra ID)",
		(id) => ({
			add: ["PATCH", { Operations: [add([{ value: id }])] }],
			remove: ["PATCH", { Operations: [remove(id)] }],
		}),
	],
	[
		"PATCH of the whole list (Okta)",
		(id) => ({
			add: ["PATCH", { Operations: [{ op: "replace", value: { members: [{ value: id }] } }] }],
			remove: ["PATCH", { Operations: [{ op: "replace", path: "members", value: [] }] }],
		}),
	],
	[
		"PUT",
		(id) => ({
			add: ["PUT", { displayName: "Team", members: [{ value: id }] }],
			remove: ["PUT", { displayName: "Team", members: [] }],
		}),
	],
];

const rolesIn = async (
	{ here }: { here: Awaited<ReturnType<typeof provisioned>>["here"] },
	id: string,
) =>
	(await here("GET", `/roles/${id}/members`)).body.results.map(
		({ user }: { user: { uuid: string } }) => user.uuid,
	);

test.each(STYLES)(
	"a group gives its members a role at once, and takes it: %s",
	async (_, style) => {
		const home = await provisioned();
		const ada = await home.employee();
		const group = await home.group("Team");
		const granted = await home.grant(group.id, { roles: [AUDITOR, AUDITOR] });
		expect(granted).toMatchObject({ status: 200, body: { roles: [AUDITOR] } });
		const audit = async () =>
			(await home.here("GET", "/service_accounts", { key: ada.key })).status;
		const invite = async () =>
			(
				await home.here("POST", "/invites", {
					key: ada.key,
					body: { target_email: `${v7()}@tenantry.test` },
				})
			).status;
		expect([await audit(), await invite()]).toEqual([403, 201]);
		const path = `/Groups/${group.id}`;
		const {
			add: [method, joining],
			remove: leaving,
		} = style(ada.uuid);
		expect((await home.scim(method, path, { body: joining })).status).toBe(200);
		expect([await audit(), await invite()]).toEqual([200, 403]);
		expect(await rolesIn(home, AUDITOR)).toEqual([ada.uuid]);
		expect((await home.here("DELETE", `/roles/${AUDITOR}/members/${ada.uuid}`)).status).toBe(400);
		expect((await home.scim(leaving[0], path, { body: leaving[1] })).status).toBe(200);
		expect([await audit(), await invite()]).toEqual([403, 201]);
		const ofRole = (await log(home.organization_id)).filter(({ scope }) => scope === "RoleMember");
		expect(ofRole).toMatchObject(
			["created", "deleted"].map((activity) => ({
				...{ activity, name: ada.email, item_id: AUDITOR, user_id: null },
				trigger: { job_type: "scim" },
			})),
		);
	},
);

test("a role that people gave stays when a group is left, and one of two groups is enough", async () => {
	const home = await provisioned();
	const [ada, bob] = [await home.employee(), await home.employee()];
	const { body: role } = await home.here("POST", "/roles", { body: { name: "Data" } });
	const access = { resource: "batch_export", access_level: "viewer", role: role.id };
	await home.here("POST", "/access_controls", { body: access });
	const members = async () => (await rolesIn(home, role.id)).sort();
	const given = { body: { member: ada.uuid } };
	await home.here("POST", `/roles/${role.id}/members`, given);
	const ids = [ada.uuid, bob.uuid];
	const [one, two] = [await home.group("One", ids), await home.group("Two", ids)];
	await home.grant(one.id, { roles: [role.id] });
	await home.grant(two.id, { roles: [role.id, AUDITOR] });
	const create = async (key: string) => {
		const body = { name: "New", interval: "hour", destination: { type: "NoOp", config: {} } };
		return (await home.here("POST", "/batch_exports", { key, body })).status;
	};
	await home.scim("DELETE", `/Groups/${two.id}`);
	expect(await members()).toEqual(ids.toSorted());
	expect([await create(ada.key), await create(bob.key)]).toEqual([403, 403]);
	await home.grant(one.id, { roles: [] });
	expect(await members()).toEqual([ada.uuid]);
	expect([await create(ada.key), await create(bob.key)]).toEqual([403, 201]);
	const ofBob = (await log(home.organization_id)).filter(
		({ scope, name }) => scope === "RoleMember" && name === bob.email,
	);
	expect(ofBob.map(({ activity, item_id }) => [activity, item_id === role.id])).toEqual([
		["created", true],
		["created", false],
		["deleted", false],
		["deleted", true],
	]);
});

test("whoever becomes a member again has the roles of their groups, until the domain or the role is deleted", async () => {
	const home = await provisioned();
	const ada = await home.employee();
	const { body: role } = await home.here("POST", "/roles", { body: { name: "Data" } });
	const none = { resource: "batch_export", access_level: "none", role: role.id };
	await home.here("POST", "/access_controls", { body: none });
	const group = await home.group("Team", [ada.uuid]);
	await home.grant(group.id, { roles: [AUDITOR, role.id] });
	const access = async () => {
		const { body } = await home.here("GET", `/access?member=${ada.uuid}`);
		return Object.fromEntries(
			body.results.map((each: { resource: string; access_level: string }) => [
				each.resource,
				each.access_level,
			]),
		);
	};
	expect(await access()).toMatchObject({ batch_export: "viewer", webhook: "viewer" });
	const path = `/Users/${ada.uuid}`;
	await home.patch(path, { op: "replace", path: "active", value: false });
	expect(await rolesIn(home, AUDITOR)).toEqual([]);
	await home.patch(path, { op: "replace", path: "active", value: true });
	expect(await access()).toMatchObject({ batch_export: "viewer", webhook: "viewer" });
	// By hand, and by an invite.
	await home.here("DELETE", `/members/${ada.uuid}`);
	const { token } = await createInvite(home, { target_email: ada.email });
	const accepted = await accept(token, { key: await home.keyOf(ada.email) });
	expect(accepted.status).toBe(200);
	expect(await access()).toMatchObject({ batch_export: "viewer", webhook: "viewer" });

	await home.here("DELETE", `/roles/${role.id}`);
	const groups = await home.here("GET", `${home.at}/groups`);
	expect(groups.body.results[0].roles).toEqual([AUDITOR]);
	await home.here("DELETE", `/domains/${home.domain_id}`);
	expect(await access()).toMatchObject({ batch_export: "editor", webhook: "none" });
});

test("groups give no roles of another organization, nor one that is deleted meanwhile", async () => {
	const [home, other] = [await provisioned(), await provisioned()];
	const { body: theirs } = await other.here("POST", "/roles", { body: { name: "Data" } });
	const { body: role } = await home.here("POST", "/roles", { body: { name: "Data" } });
	const group = await home.group("Team");
	for (const [roles, attr] of [
		[[AUDITOR, theirs.id], "roles__1"],
		[["x"], "roles__0"],
		[[v7()], "roles__0"],
		["x", "roles"],
	])
		expect(await home.grant(group.id, { roles })).toMatchObject({ status: 400, body: { attr } });
	const late = await home.here("PATCH", `${home.at}/groups/${group.id}`, {
		body: { roles: [role.id] },
		env: racing(() => home.here("DELETE", `/roles/${role.id}`)),
	});
	expect(late).toMatchObject({ status: 400, body: { attr: "roles__0" } });
});
