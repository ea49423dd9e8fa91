import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { members } from "../../../src/db/schema/members.ts";
import { call, db, join, world } from "../../support/world.ts";

test("an admin adds, lists and removes the members of a project", async () => {
	const { ask, id, project } = await world();
	const someone = await join(id, 1);
	const path = `/api/projects/${project}/members/`;
	const created = await ask("POST", path, {
		body: { user_uuid: someone.uuid, level: 8 },
	});
	expect(created).toMatchObject({
		status: 201,
		body: {
			level: 8,
			user: { id: someone.id, uuid: someone.uuid, email: someone.email },
		},
	});
	expect((await ask("GET", path)).body).toMatchObject({
		count: 1,
		results: [created.body],
	});
	expect(await ask("POST", path, { body: { user_uuid: someone.uuid, level: 1 } })).toMatchObject({
		status: 400,
		body: { code: "unique", attr: "user_uuid" },
	});
	expect((await ask("DELETE", `${path}${someone.uuid}/`)).status).toBe(204);
	expect((await ask("DELETE", `${path}${someone.uuid}/`)).status).toBe(404);
	expect((await ask("DELETE", `${path}nobody/`)).status).toBe(404);
	expect((await ask("GET", path)).body.count).toBe(0);
});

test("admins can add members of the organization, and nobody else can be added or add", async () => {
	const { ask, id, project } = await world();
	const path = `/api/projects/${project}/members/`;
	const stranger = (await world()).owner;
	expect(
		(await ask("POST", path, { body: { user_uuid: stranger.uuid, level: 1 } })).body,
	).toMatchObject({
		code: "does_not_exist",
		detail: `Invalid pk "${stranger.uuid}" - object does not exist.`,
		attr: "user_uuid",
	});
	const member = await join(id, 1);
	expect(
		(
			await call("POST", path, {
				key: member.key,
				body: { user_uuid: member.uuid, level: 8 },
			})
		).status,
	).toBe(403);
	expect((await call("DELETE", `${path}${member.uuid}`, { key: member.key })).status).toBe(403);
});

test("removing a member from the organization removes it from the projects", async () => {
	const { ask, id, project } = await world();
	const someone = await join(id, 1);
	await ask("POST", `/api/projects/${project}/members`, {
		body: { user_uuid: someone.uuid, level: 1 },
	});
	await db
		.delete(members)
		.where(and(eq(members.organization_id, organizationId(id)), eq(members.user_id, someone.id)));
	expect((await ask("GET", `/api/projects/${project}/members`)).body.count).toBe(0);
});

test("20 parallel additions of the same user create one membership", async () => {
	const { ask, id, project } = await world();
	const someone = await join(id, 1);
	const responses = await Promise.all(
		Array.from({ length: 20 }, () =>
			ask("POST", `/api/projects/${project}/members`, {
				body: { user_uuid: someone.uuid, level: 1 },
			}),
		),
	);
	expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
	expect(
		responses.filter(({ status, body }) => status === 400 && body.code === "unique"),
	).toHaveLength(19);
});
