import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members } from "../../../src/db/schema/people.ts";
import { wrong } from "../../support/errors.ts";
import { call, db, join, world } from "../../support/world.ts";

/** A project, and a member of its organization. */
async function home() {
	const tenant = await world();
	const someone = await join(tenant.id, 1);
	const path = `/api/projects/${tenant.project}/members`;
	const add = ({ uuid: user_uuid }: { uuid: string }, level = 1) =>
		tenant.ask("POST", path, { body: { user_uuid, level } });
	return { ...tenant, someone, path, add };
}

test("an admin adds, lists and removes the members of a project", async () => {
	const { ask, someone, path, add } = await home();
	const created = await add(someone, 8);
	const { id, uuid, email } = someone;
	expect(created).toMatchObject({ status: 201, body: { level: 8, user: { id, uuid, email } } });
	expect((await ask("GET", `${path}/`)).body).toMatchObject({ count: 1, results: [created.body] });
	for (const [who, status] of [
		[uuid, 204],
		[uuid, 404],
		["nobody", 404],
	])
		expect((await ask("DELETE", `${path}/${who}/`)).status).toBe(status);
	expect((await ask("GET", path)).body.count).toBe(0);
});

test("an admin changes a level, which is told once, and members can't", async () => {
	const { ask, id, someone, path, add, key } = await home();
	const { body: created } = await add(someone);
	const at = `${path}/${someone.uuid}`;
	const change = (body: object, as = key) => call("PATCH", at, { key: as, body });
	expect(await change({ level: 8 }, someone.key)).toMatchObject({ status: 403 });
	const { body: changed } = await change({ level: 8 });
	expect(changed).toMatchObject({ id: created.id, level: 8, joined_at: created.joined_at });
	expect(changed.updated_at > created.updated_at).toBe(true);
	for (const body of [{ level: 8 }, { level: "8" }, {}])
		expect((await change(body)).body).toEqual(changed);
	for (const level of [15, 0, null, "admin"])
		expect(await change({ level })).toMatchObject({ status: 400, body: { attr: "level" } });
	// An admin of the project may lower their own level, and can't raise it again.
	expect((await change({ level: 1 }, someone.key)).body.level).toBe(1);
	expect((await change({ level: 8 }, someone.key)).status).toBe(403);
	const { key: stranger } = await world();
	expect((await change({ level: 8 }, stranger)).status).toBe(403);
	const nobody = `${path}/${(await join(id, 1)).uuid}`;
	expect((await ask("PATCH", nobody, { body: { level: 8 } })).status).toBe(404);
	const { body } = await ask("GET", `/api/organizations/${id}/activity_log?scope=ProjectMember`);
	expect(
		body.results.map(({ activity, detail }: { activity: string; detail: object }) => [
			activity,
			detail,
		]),
	).toMatchObject([
		["updated", { changes: [{ field: "level", before: 8, after: 1 }] }],
		["updated", { name: someone.email, changes: [{ field: "level", before: 1, after: 8 }] }],
		["created", {}],
	]);
});

test("admins can add members of the organization, and nobody else can be added or add", async () => {
	const { ask, someone, path, add } = await home();
	const { uuid } = (await world()).owner;
	expect(await add({ uuid })).toMatchObject(
		wrong("does_not_exist", `Invalid pk "${uuid}" - object does not exist.`, "user_uuid"),
	);
	const { key } = someone;
	const body = { user_uuid: someone.uuid, level: 8 };
	expect((await ask("POST", path, { key, body })).status).toBe(403);
	expect((await ask("DELETE", `${path}/${someone.uuid}`, { key })).status).toBe(403);
});

test("removing a member from the organization removes it from the projects", async () => {
	const { ask, id, someone, path, add } = await home();
	await add(someone);
	await db
		.delete(members)
		.where(and(eq(members.organization_id, organizationId(id)), eq(members.user_id, someone.id)));
	expect((await ask("GET", path)).body.count).toBe(0);
});

test("parallel additions of the same user create one membership", async () => {
	const { someone, add } = await home();
	const added = await Promise.all(Array.from({ length: 10 }, () => add(someone)));
	const others = added.filter(({ status }) => status !== 201);
	expect(others).toHaveLength(9);
	for (const { body } of others) expect(body).toMatchObject({ code: "unique", attr: "user_uuid" });
});
