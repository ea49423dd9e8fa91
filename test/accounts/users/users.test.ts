import { expect, test } from "vitest";
import { call, keyFor, person, world } from "../../support/world.ts";

test("a user sees itself, its current organization and project, and all its organizations", async () => {
	const { ask, id, owner, project } = await world();
	const { status, body } = await ask("GET", "/api/users/@me/");
	expect(status).toBe(200);
	const membership = {
		id,
		name: "Acme",
		slug: expect.any(String),
		membership_level: 15,
	};
	expect(body).toEqual({
		id: owner.id,
		uuid: owner.uuid,
		distinct_id: owner.distinct_id,
		first_name: "Test",
		last_name: "",
		email: owner.email,
		is_email_verified: false,
		is_service_account: false,
		mascot_config: {},
		organization: membership,
		project: expect.objectContaining({ id: project, organization: id }),
		team: {
			id: project,
			uuid: body.project.uuid,
			organization: id,
			name: "Default project",
			timezone: "UTC",
		},
		organizations: [membership],
	});
	expect((await ask("GET", `/api/users/${owner.uuid}`)).body).toEqual(body);
});

test("another user is not found", async () => {
	const { ask } = await world();
	const other = await person();
	for (const uuid of [other.uuid, "x", "1"])
		expect(await ask("GET", `/api/users/${uuid}`)).toMatchObject({
			status: 404,
			body: { detail: "Not found." },
		});
	expect(
		(
			await ask("PATCH", `/api/users/${other.uuid}`, {
				body: { first_name: "x" },
			})
		).status,
	).toBe(404);
});

test("a user changes its names", async () => {
	const { ask } = await world();
	expect(
		(
			await ask("PATCH", "/api/users/@me", {
				body: { first_name: "Ada", last_name: "" },
			})
		).body,
	).toMatchObject({ first_name: "Ada", last_name: "" });
	expect(
		(
			await ask("PATCH", "/api/users/@me", {
				body: { first_name: "x".repeat(151) },
			})
		).body,
	).toMatchObject({ code: "max_length", attr: "first_name" });
	const before = (await ask("GET", "/api/users/@me")).body;
	expect((await ask("PATCH", "/api/users/@me", { body: {} })).body).toEqual(before);
});

test("a user chooses the current organization, project, or both", async () => {
	const { ask, id, project } = await world();
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	const choose = async (body: object) => {
		const { body: me } = await ask("PATCH", "/api/users/@me", { body });
		return [me.organization?.id, me.project?.id];
	};
	const second = (
		await ask("POST", "/api/projects", {
			body: { name: "2", organization: id },
		})
	).body;
	expect(await choose({ organization: id })).toEqual([id, project]);
	expect(await choose({ project: second.id })).toEqual([id, second.id]);
	expect(await choose({ organization: id })).toEqual([id, second.id]);
	expect(await choose({ organization: other.id })).toEqual([other.id, other.teams[0].id]);
	expect(await choose({ organization: id, project: second.id })).toEqual([id, second.id]);
	expect((await ask("GET", "/api/projects/@current")).body.id).toBe(second.id);
	expect((await ask("GET", "/api/organizations/@current")).body.id).toBe(id);
});

test("a user can't choose an organization or project that it doesn’t belong to", async () => {
	const { ask, id, owner } = await world();
	const stranger = await world();
	const missing = (attr: string) => ({
		status: 400,
		body: { code: "does_not_exist", attr },
	});
	expect(
		await ask("PATCH", "/api/users/@me", {
			body: { organization: stranger.id },
		}),
	).toMatchObject(missing("organization"));
	expect(
		await ask("PATCH", "/api/users/@me", {
			body: { project: stranger.project },
		}),
	).toMatchObject(missing("project"));
	const other = (await ask("POST", "/api/organizations", { body: { name: "Other" } })).body;
	expect(
		await ask("PATCH", "/api/users/@me", {
			body: { organization: id, project: other.teams[0].id },
		}),
	).toMatchObject(missing("project"));
	const key = await keyFor(owner.id, { scoped_organizations: [id] });
	expect(
		await call("PATCH", "/api/users/@me", {
			key,
			body: { organization: other.id },
		}),
	).toMatchObject(missing("organization"));
});

test("without a current project, team is null", async () => {
	const { key } = await person();
	const { body } = await call("GET", "/api/users/@me", { key });
	expect(body).toMatchObject({ project: null, team: null });
});

test("a restricted key sees only the organizations that it reaches", async () => {
	const { ask, id, owner, project } = await world();
	await ask("POST", "/api/organizations", { body: { name: "Other" } });
	const visible = async (restrictions: object) => {
		const key = await keyFor(owner.id, restrictions);
		const { body } = await call("GET", "/api/users/@me", { key });
		return body.organizations.map(({ id }: { id: string }) => id);
	};
	expect(await visible({})).toHaveLength(2);
	expect(await visible({ scoped_projects: [project] })).toEqual([id]);
	expect(await visible({ scoped_organizations: [id] })).toEqual([id]);
	expect(await visible({ scoped_projects: [2 ** 30] })).toEqual([]);
});
