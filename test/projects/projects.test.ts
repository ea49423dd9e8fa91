import { expect, test } from "vitest";
import { projectMembers } from "../../src/db/schema.ts";
import { call, db, join, keyFor, world } from "../support/world.ts";

const denied = {
	status: 403,
	body: {
		type: "authentication_error",
		code: "permission_denied",
		detail: "You don't have access to the project.",
		attr: null,
	},
};

test("an admin creates a project where it works, or where it says", async () => {
	const { ask, id } = await world();
	const other = (
		await ask("POST", "/api/organizations", { body: { name: "Other" } })
	).body;
	const here = await ask("POST", "/api/projects/", { body: { name: "Here" } });
	expect(here.status).toBe(201);
	expect(here.body).toEqual({
		id: expect.any(Number),
		uuid: expect.any(String),
		organization: other.id,
		name: "Here",
		timezone: "UTC",
		access_control: false,
		created_at: expect.any(String),
	});
	const body = {
		name: "There",
		organization: id,
		timezone: "Europe/Berlin",
		access_control: true,
	};
	const there = (await ask("POST", "/api/projects/", { body })).body;
	expect(there).toMatchObject(body);
	expect((await ask("GET", `/api/projects/${there.id}`)).body).toEqual(there);
	expect((await ask("GET", "/api/projects")).body).toMatchObject({ count: 4 });
});

test("who may not create one, and where", async () => {
	const { ask, id } = await world();
	const create = (key: string, organization?: string) =>
		call("POST", "/api/projects", { key, body: { name: "x", organization } });
	const member = await join(id, 1);
	expect((await create(member.key)).body.detail).toBe(
		"Your organization access level is insufficient.",
	);
	const elsewhere = await world();
	expect((await create(elsewhere.key, id)).body).toMatchObject({
		code: "does_not_exist",
		detail: `Invalid pk "${id}" - object does not exist.`,
		attr: "organization",
	});
	await elsewhere.ask("DELETE", `/api/organizations/${elsewhere.id}`);
	expect((await create(elsewhere.key)).body).toMatchObject({
		code: "required",
		attr: "organization",
	});
	expect(
		(
			await ask("POST", "/api/projects", {
				body: { name: "x", timezone: "Nowhere/Land" },
			})
		).body,
	).toMatchObject({
		code: "invalid_choice",
		detail: '"Nowhere/Land" is not a valid choice.',
		attr: "timezone",
	});
});

test("an admin changes a project, an owner deletes it", async () => {
	const { ask, id, project } = await world();
	const path = `/api/projects/${project}`;
	const [member, admin] = [await join(id, 1), await join(id, 8)];
	const body = { name: "Changed" };
	expect((await call("GET", path, { key: member.key })).status).toBe(200);
	expect((await call("PATCH", path, { key: member.key, body })).status).toBe(
		403,
	);
	expect((await call("PATCH", path, { key: admin.key, body })).body.name).toBe(
		"Changed",
	);
	expect(
		(await call("PATCH", path, { key: admin.key, body: {} })).body.name,
	).toBe("Changed");
	expect((await call("DELETE", path, { key: admin.key })).status).toBe(403);
	expect((await ask("DELETE", path)).status).toBe(204);
	expect((await ask("GET", path)).body.detail).toBe("Project not found.");
	expect((await ask("GET", "/api/users/@me")).body.project).toBeNull();
});

test("a private project is there for admins and its members only", async () => {
	const { ask, here, id, project } = await world();
	const path = `/api/projects/${project}`;
	const [member, admin] = [await join(id, 1), await join(id, 8)];
	await ask("PATCH", path, { body: { access_control: true } });

	{
		const { key } = admin;
		expect((await call("GET", path, { key })).status).toBe(200);
		expect((await call("GET", `${path}/members`, { key })).status).toBe(200);
	}
	const { key } = member;
	expect((await call("GET", path, { key })).body.detail).toBe(
		"Project not found.",
	);
	expect(await call("GET", `${path}/members`, { key })).toMatchObject(denied);
	expect(await call("GET", `${path}/activity_log`, { key })).toMatchObject(
		denied,
	);
	expect((await call("GET", "/api/projects", { key })).body.count).toBe(0);
	expect(
		(await call("GET", `/api/organizations/${id}`, { key })).body.teams,
	).toEqual([]);
	expect(
		(await call("GET", "/api/users/@me", { key })).body.project,
	).toBeNull();
	expect((await here("GET", "")).body.teams).toHaveLength(1);

	await ask("POST", `${path}/members`, {
		body: { user_uuid: member.uuid, level: 1 },
	});
	expect((await call("GET", path, { key })).status).toBe(200);
	expect((await call("GET", "/api/projects", { key })).body.count).toBe(1);
	expect(
		(await call("GET", `/api/organizations/${id}`, { key })).body.teams,
	).toHaveLength(1);
	expect((await call("GET", "/api/projects/@current", { key })).body.id).toBe(
		project,
	);
	expect((await call("PATCH", path, { key, body: { name: "x" } })).status).toBe(
		403,
	);
});

test("an admin of the project is one below it, and no owner", async () => {
	const { id, project } = await world();
	const someone = await join(id, 1);
	await db.insert(projectMembers).values({
		organization_id: id,
		project_id: project,
		user_id: someone.id,
		level: 8,
	});
	expect(
		(
			await call("PATCH", `/api/projects/${project}`, {
				key: someone.key,
				body: { name: "Mine" },
			})
		).body.name,
	).toBe("Mine");
	expect(
		(await call("DELETE", `/api/projects/${project}`, { key: someone.key }))
			.status,
	).toBe(403);
});

test("a restricted key sees its projects only, and creates none", async () => {
	const { ask, owner, project, id } = await world();
	const other = (
		await ask("POST", "/api/projects", { body: { name: "Other" } })
	).body;
	const key = await keyFor(owner.id, { scoped_projects: [project] });
	expect((await call("GET", "/api/projects", { key })).body).toMatchObject({
		count: 1,
		results: [{ id: project }],
	});
	expect((await call("GET", `/api/projects/${project}`, { key })).status).toBe(
		200,
	);
	expect(
		(await call("GET", `/api/projects/${other.id}`, { key })).body.detail,
	).toBe(
		`API key does not have access to the requested project: ID ${other.id}.`,
	);
	expect(
		(await call("POST", "/api/projects", { key, body: { name: "x" } })).status,
	).toBe(403);
	expect(
		(await call("GET", "/api/users/@me", { key })).body.organizations,
	).toMatchObject([{ id }]);
});

test("a time zone is a name of the IANA database, in its spelling", async () => {
	const { ask } = await world();
	const made = (timezone: string) =>
		ask("POST", "/api/projects", { body: { name: "x", timezone } });
	for (const [given, kept] of [
		["europe/berlin", "Europe/Berlin"],
		["utc", "UTC"],
		["Asia/Kolkata", "Asia/Kolkata"],
	] as const)
		expect((await made(given)).body.timezone).toBe(kept);
	for (const none of ["+01:00", "", "Mars/Base", "UTC+1"])
		expect((await made(none)).body).toMatchObject({
			code: "invalid_choice",
			attr: "timezone",
		});
});

test("of several wrong fields the first is named", async () => {
	const { ask } = await world();
	const body = { access_control: 7, timezone: "bad", organization: "bad" };
	const attr = async (given: object) =>
		(await ask("POST", "/api/projects", { body: given })).body.attr;
	expect(await attr(body)).toBe("name");
	expect(await attr({ ...body, name: "x" })).toBe("organization");
});

test("a project's entries in the log are found by its id", async () => {
	const { ask, project } = await world();
	await ask("PATCH", `/api/projects/${project}`, { body: { name: "x" } });
	const log = `/api/projects/${project}/activity_log?item_id=${project}`;
	expect((await ask("GET", log)).body).toMatchObject({
		count: 1,
		results: [{ item_id: String(project) }],
	});
});
