import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members } from "../../../src/db/schema/people.ts";
import { wrong } from "../../support/errors.ts";
import { db, join, world } from "../../support/world.ts";

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
