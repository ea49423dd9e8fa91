import { describe, expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { projectMembers } from "../../../src/db/schema/people.ts";
import { forbidden, wrong } from "../../support/errors.ts";
import { call, db, join, keyFor, world } from "../../support/world.ts";

const INSUFFICIENT = "Your organization access level is insufficient.";

const denied = forbidden("You don't have access to the project.");

test("an admin creates a project in the current organization or in one named in the body", async () => {
	const { ask, id } = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const first = await ask("POST", "/api/projects/", { body: { name: "Here" } });
	expect(first.status).toBe(201);
	expect(first.body).toEqual({
		...{ id: expect.any(Number), uuid: expect.any(String), organization: other.id },
		...{ name: "Here", timezone: "UTC", access_control: false, created_at: expect.any(String) },
	});
	const body = { organization: id, name: "There", timezone: "Europe/Berlin", access_control: true };
	const second = (await ask("POST", "/api/projects/", { body })).body;
	expect(second).toMatchObject(body);
	expect((await ask("GET", `/api/projects/${second.id}`)).body).toEqual(second);
	expect((await ask("GET", "/api/projects")).body).toMatchObject({ count: 4 });
});

test("creating a project requires the admin level and an organization of the caller", async () => {
	const { id } = await world();
	const create = (key: string, organization?: string) =>
		call("POST", "/api/projects", { key, body: { name: "x", organization } });
	const member = await join(id, 1);
	expect(await create(member.key)).toMatchObject(forbidden(INSUFFICIENT));
	const elsewhere = await world();
	expect(await create(elsewhere.key, id)).toMatchObject(
		wrong("does_not_exist", `Invalid pk "${id}" - object does not exist.`, "organization"),
	);
	await elsewhere.here("DELETE", "");
	expect(await create(elsewhere.key)).toMatchObject(
		wrong("required", "This field is required.", "organization"),
	);
});

test("an admin changes a project, an owner deletes it", async () => {
	const { ask, id, project } = await world();
	const path = `/api/projects/${project}`;
	const [member, admin] = [await join(id, 1), await join(id, 8)];
	const body = { name: "Changed" };
	expect((await call("GET", path, { key: member.key })).status).toBe(200);
	expect((await call("PATCH", path, { key: member.key, body })).status).toBe(403);
	expect((await call("PATCH", path, { key: admin.key, body })).body.name).toBe("Changed");
	expect((await call("PATCH", path, { key: admin.key, body: {} })).body.name).toBe("Changed");
	expect((await call("DELETE", path, { key: admin.key })).status).toBe(403);
	expect((await ask("DELETE", path)).status).toBe(204);
	expect((await ask("GET", path)).body.detail).toBe("Project not found.");
	expect((await ask("GET", "/api/users/@me")).body.project).toBeNull();
});

test("a private project is visible only to admins and its members", async () => {
	const { ask, here, id, project } = await world();
	const path = `/api/projects/${project}`;
	const [member, admin] = [await join(id, 1), await join(id, 8)];
	await ask("PATCH", path, { body: { access_control: true } });
	for (const each of [path, `${path}/members`])
		expect((await ask("GET", each, { key: admin.key })).status).toBe(200);
	const { key } = member;
	const read = (at: string) => call("GET", at, { key });
	expect((await read(path)).body.detail).toBe("Project not found.");
	expect(await read(`${path}/members`)).toMatchObject(denied);
	expect(await read(`${path}/activity_log`)).toMatchObject(denied);
	expect((await read("/api/projects")).body.count).toBe(0);
	expect((await read(`/api/organizations/${id}`)).body.teams).toEqual([]);
	expect((await read("/api/users/@me")).body.project).toBeNull();
	expect((await here("GET", "")).body.teams).toHaveLength(1);
	await ask("POST", `${path}/members`, { body: { user_uuid: member.uuid, level: 1 } });
	expect((await read(path)).status).toBe(200);
	expect((await read("/api/projects")).body.count).toBe(1);
	expect((await read(`/api/organizations/${id}`)).body.teams).toHaveLength(1);
	expect((await read("/api/projects/@current")).body.id).toBe(project);
	expect((await call("PATCH", path, { key, body: { name: "x" } })).status).toBe(403);
});

test("a project's admin may change the project but not delete it", async () => {
	const { id, project } = await world();
	const someone = await join(id, 1);
	await db.insert(projectMembers).values({
		organization_id: organizationId(id),
		project_id: project,
		user_id: someone.id,
		level: 8,
	});
	const { key } = someone;
	const changed = await call("PATCH", `/api/projects/${project}`, { key, body: { name: "Mine" } });
	expect(changed.body.name).toBe("Mine");
	expect((await call("DELETE", `/api/projects/${project}`, { key: someone.key })).status).toBe(403);
});

test("a restricted key sees only its projects and can't create any", async () => {
	const { ask, owner, project, id } = await world();
	const other = (await ask("POST", "/api/projects", { body: { name: "Other" } })).body;
	const key = await keyFor(owner.id, { scoped_projects: [project] });
	expect((await call("GET", "/api/projects", { key })).body).toMatchObject({
		count: 1,
		results: [{ id: project }],
	});
	expect((await call("GET", `/api/projects/${project}`, { key })).status).toBe(200);
	expect((await call("GET", `/api/projects/${other.id}`, { key })).body.detail).toBe(
		`API key does not have access to the requested project: ID ${other.id}.`,
	);
	expect((await call("POST", "/api/projects", { key, body: { name: "x" } })).status).toBe(403);
	expect((await call("GET", "/api/users/@me", { key })).body.organizations).toMatchObject([{ id }]);
});

test("a project's log entries can be filtered by its id", async () => {
	const { ask, project } = await world();
	await ask("PATCH", `/api/projects/${project}`, { body: { name: "x" } });
	const log = `/api/projects/${project}/activity_log?item_id=${project}`;
	expect((await ask("GET", log)).body).toMatchObject({
		count: 1,
		results: [{ item_id: String(project) }],
	});
});

describe("the projects of one organization", () => {
	/** Two organizations of one owner, each with a project. */
	async function twoOrganizations() {
		const home = await world();
		const other = (await home.ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
		return { ...home, other: other.id, elsewhere: other.teams[0].id };
	}

	test("are listed without other organizations' projects", async () => {
		const { ask, here, other, project, elsewhere } = await twoOrganizations();
		const ids = async (path: string) =>
			(await ask("GET", path)).body.results.map(({ id }: { id: number }) => id);
		expect((await here("GET", "/projects")).body.results).toMatchObject([{ id: project }]);
		expect(await ids(`/api/organizations/${other}/projects/`)).toEqual([elsewhere]);
		expect(await ids("/api/organizations/@current/projects")).toEqual([elsewhere]);
	});

	test("are created, read, changed and deleted as on their own paths", async () => {
		const { ask, here, id, other } = await twoOrganizations();
		const body = { name: "New", organization: other, timezone: "europe/paris" };
		const created = await here("POST", "/projects/", { body });
		expect(created).toMatchObject({
			status: 201,
			body: { name: "New", organization: id, timezone: "Europe/Paris" },
		});
		const at = `/projects/${created.body.id}`;
		expect((await here("GET", at)).body).toEqual(created.body);
		expect((await ask("GET", `/api${at}`)).body).toEqual(created.body);
		const name = "Renamed";
		expect((await here("PATCH", at, { body: { name } })).body).toEqual({ ...created.body, name });
		expect((await here("PATCH", at, { body: { name: "" } })).body.code).toBe("blank");
		const log = `/activity_log?scope=Project&item_id=${created.body.id}`;
		expect((await here("DELETE", at)).status).toBe(204);
		expect((await here("GET", log)).body.results).toMatchObject(
			["deleted", "updated", "created"].map((activity) => ({ activity })),
		);
		expect(await here("GET", at)).toMatchObject(missing);
	});

	const missing = {
		status: 404,
		body: { code: "not_found", detail: "Project not found." },
	};

	test("are not found if they belong to another organization, don't exist or have an invalid id", async () => {
		const { ask, here, id, other, project, elsewhere } = await twoOrganizations();
		const stranger = await world();
		for (const method of ["GET", "PATCH", "DELETE"])
			for (const id of [elsewhere, stranger.project, 2 ** 30, "x", "1.0"])
				expect(await here(method, `/projects/${id}`)).toMatchObject(missing);
		expect((await here("GET", "/projects/@current")).status).toBe(404);
		const at = `/api/organizations/${other}/projects/@current`;
		expect((await ask("GET", at)).body.id).toBe(elsewhere);
		for (const method of ["GET", "PATCH", "DELETE"])
			expect(
				(await stranger.ask(method, `/api/organizations/${id}/projects/${project}`)).status,
			).toBe(403);
		expect((await ask("GET", `/api/projects/${elsewhere}`)).status).toBe(200);
	});

	test("are hidden if they are private, and changed only by admins of the organization or the project", async () => {
		const { ask, here, id, project } = await twoOrganizations();
		const at = `/api/organizations/${id}/projects/${project}`;
		const [member, lead, admin] = await Promise.all([join(id, 1), join(id, 1), join(id, 8)]);
		await db.insert(projectMembers).values({
			organization_id: organizationId(id),
			project_id: project,
			user_id: lead.id,
			level: 8,
		});
		const change = (key: string) => call("PATCH", at, { key, body: { name: "x" } });
		expect((await change(member.key)).body.detail).toBe(INSUFFICIENT);
		expect((await change(lead.key)).status).toBe(200);
		expect((await change(admin.key)).status).toBe(200);
		for (const { key } of [lead, admin])
			expect((await call("DELETE", at, { key })).body.detail).toBe(INSUFFICIENT);
		const create = await call("POST", `/api/organizations/${id}/projects`, {
			key: member.key,
			body: { name: "x" },
		});
		expect(create.body.detail).toBe(INSUFFICIENT);
		await here("PATCH", `/projects/${project}`, {
			body: { access_control: true },
		});
		expect(await change(member.key)).toMatchObject(missing);
		const list = `/api/organizations/${id}/projects`;
		const count = async (key: string) => (await call("GET", list, { key })).body.count;
		expect([await count(member.key), await count(lead.key)]).toEqual([0, 1]);
		expect((await ask("GET", at)).body.access_control).toBe(true);
	});

	test("have the same key restrictions as the organization's other paths", async () => {
		const { here, id, other, owner, project } = await twoOrganizations();
		const list = `/api/organizations/${id}/projects`;
		const get = async (restrictions: object, path: string) => {
			const key = await keyFor(owner.id, restrictions);
			return call("GET", path, { key });
		};
		expect((await get({ scoped_projects: [project] }, `${list}/${project}`)).body.detail).toBe(
			"API keys with scoped projects are only supported on project-based endpoints.",
		);
		expect((await get({ scoped_organizations: [other] }, list)).body.detail).toBe(
			`API key does not have access to the requested organization: ID ${id}.`,
		);
		const restricted = { scoped_organizations: [id] };
		expect((await get(restricted, list)).body.count).toBe(1);
		const key = await keyFor(owner.id, restricted);
		expect((await here("POST", "/projects", { key, body: { name: "x" } })).status).toBe(201);
	});
});
