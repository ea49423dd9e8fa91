import { expect, test } from "vitest";
import { call, keyFor, person, world } from "../../support/world.ts";

const ME = "/api/users/@me";

test("a user sees itself, its current organization and project, and all its organizations", async () => {
	const { ask, id, owner, project } = await world();
	const { body } = await ask("GET", `${ME}/`);
	const membership = { id, name: "Acme", slug: expect.any(String), membership_level: 15 };
	expect(body).toEqual({
		...{ id: owner.id, uuid: owner.uuid, distinct_id: owner.distinct_id, email: owner.email },
		...{ first_name: "Test", last_name: "", mascot_config: {} },
		...{ is_email_verified: false, is_service_account: false },
		organization: membership,
		project: expect.objectContaining({ id: project, organization: id }),
		team: {
			...{ id: project, uuid: body.project.uuid, organization: id },
			...{ name: "Default project", timezone: "UTC" },
		},
		organizations: [membership],
	});
	expect((await ask("GET", `/api/users/${owner.uuid}`)).body).toEqual(body);
	const { key } = await person();
	const alone = await call("GET", ME, { key });
	expect(alone.body).toMatchObject({ project: null, team: null });
});

test("another user is not found", async () => {
	const { ask } = await world();
	const other = await person();
	for (const uuid of [other.uuid, "x"])
		expect((await ask("GET", `/api/users/${uuid}`)).status).toBe(404);
	const body = { first_name: "x" };
	expect((await ask("PATCH", `/api/users/${other.uuid}`, { body })).status).toBe(404);
});

test("a user changes its names", async () => {
	const { ask } = await world();
	const change = async (body: object) => (await ask("PATCH", ME, { body })).body;
	const names = { first_name: "Ada", last_name: "" };
	expect(await change(names)).toMatchObject(names);
	expect(await change({ first_name: "x".repeat(151) })).toMatchObject({
		code: "max_length",
		attr: "first_name",
	});
	expect(await change({})).toEqual((await ask("GET", ME)).body);
});

test("a user chooses the current organization, project, or both", async () => {
	const { ask, id, project } = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const choose = async (body: object) => {
		const { body: me } = await ask("PATCH", ME, { body });
		return [me.organization?.id, me.project?.id];
	};
	const fields = { name: "2", organization: id };
	const second = (await ask("POST", "/api/projects", { body: fields })).body;
	expect(await choose({ organization: id })).toEqual([id, project]);
	expect(await choose({ project: second.id })).toEqual([id, second.id]);
	expect(await choose({ organization: id })).toEqual([id, second.id]);
	expect(await choose({ organization: other.id })).toEqual([other.id, other.teams[0].id]);
	expect(await choose({ organization: id, project: second.id })).toEqual([id, second.id]);
	expect((await ask("GET", "/api/projects/@current")).body.id).toBe(second.id);
	expect((await ask("GET", "/api/organizations/@current")).body.id).toBe(id);
});

test("a user can't choose an organization or project that it doesn't belong to, or the key can't reach", async () => {
	const { ask, id, owner } = await world();
	const stranger = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const key = await keyFor(owner.id, { scoped_organizations: [id] });
	for (const [attr, body, options] of [
		["organization", { organization: stranger.id }, {}],
		["project", { project: stranger.project }, {}],
		["project", { organization: id, project: other.teams[0].id }, {}],
		["organization", { organization: other.id }, { key }],
	] as const)
		expect(await ask("PATCH", ME, { body, ...options })).toMatchObject({
			status: 400,
			body: { code: "does_not_exist", attr },
		});
});

test("a restricted key sees only the organizations that it reaches", async () => {
	const { ask, id, owner, project } = await world();
	await ask("POST", "/api/organizations", { body: { name: "Other" } });
	const visible = async (restrictions: object) => {
		const { body } = await call("GET", ME, { key: await keyFor(owner.id, restrictions) });
		return body.organizations.map(({ id }: { id: string }) => id);
	};
	expect(await visible({})).toHaveLength(2);
	expect(await visible({ scoped_projects: [project] })).toEqual([id]);
	expect(await visible({ scoped_organizations: [id] })).toEqual([id]);
	expect(await visible({ scoped_projects: [2 ** 30] })).toEqual([]);
});
