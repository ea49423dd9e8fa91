import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { domains, organizationId } from "../../src/db/schema/organizations.ts";
import { members } from "../../src/db/schema/people.ts";
import { pluginConfigs } from "../../src/db/schema/plugins.ts";
import { webhooks } from "../../src/db/schema/webhooks.ts";
import { address, guarded, type World } from "../support/routes.ts";
import { call, cost, db, furnished, join, keyFor, racing } from "../support/world.ts";
import { entriesOf, objects, testParallelDeletes } from "./races.ts";

testParallelDeletes(
	objects.filter(({ path }) =>
		/organization_id\/(domains|members|pipeline_destinations)\/:\w+$/.test(path),
	),
	5,
);

/** A key below a member, which only its owner writes to. */
const isKeyOfMember = ({ path }: { path: string }) => path.includes("/members/:user__uuid/keys/");

test.each(objects)(
	"a DELETE of $path that another request has just deleted is a 404, in two round trips",
	async ({ path, scope }) => {
		const home = await furnished();
		const other = await keyFor(home.owner.id);
		const object = address(path, home);
		const response = await home.ask("DELETE", object, {
			env: racing(() => call("DELETE", object, { key: other })),
		});
		expect(response.status).toBe(404);
		// These are read again, since the member may have been promoted instead, the plugin made
		// global, the app's token refreshed, or another account linked.
		const isReadAgain =
			["Member", "Plugin", "OauthGrant", "Identity"].includes(scope) || isKeyOfMember({ path });
		expect(cost(response).trips).toBe(isReadAgain ? 3 : 2);
	},
);

/** The writes that are about an object, or about what belongs to it. */
const writesOf = (home: World, object: string) =>
	guarded
		.filter(({ method }) => method !== "GET" && method !== "DELETE")
		.map((route) => ({ ...route, address: address(route.path, home) }))
		.filter((route) => `${route.address}/`.startsWith(`${object}/`));

/**
 * Writes whose answer isn't a 404 then: they were done before, or the deletion did what they ask
 * for.
 */
const OTHERS = {
	"POST /test": 200,
	"POST /cancel": 200,
	"POST /hand_over": 400,
	"POST /reset": 400,
	"POST /retry": 400,
	"POST /roll": 400,
	"POST /sign_in_test": 400,
	"POST /complete": 400,
	"POST /tokens": 400,
	"POST /migrate": 400,
	"POST /unpause": 200,
	"POST /verify": 200,
	"POST /upgrade": 200,
};

const TENANTS = ["Organization", "Project"];

/** Objects that no key writes to: they are only created and deleted. */
const UNCHANGED = [...["Invite", "RoleMember", "Session", "OauthGrant", "Identity", "ScimToken"]];

test("no write is about objects that are only created and deleted, so none can race with the DELETE", async () => {
	const home = await furnished();
	const unchanged = objects.filter(({ path }) => writesOf(home, address(path, home)).length === 0);
	// Grants of apps are below a user and below an organization.
	const others = unchanged.filter((object) => !isKeyOfMember(object));
	expect(new Set(others.map(({ scope }) => scope))).toEqual(new Set(UNCHANGED));
});

// A tenant that is deleted is rejected by the guard, whatever the write. A scope's paths have the
// same code.
const parts = objects
	.filter((object) => ![...TENANTS, ...UNCHANGED].includes(object.scope) && !isKeyOfMember(object))
	.filter(({ scope }, i, all) => all.findIndex((object) => object.scope === scope) === i);

test.each(parts)(
	"a write that races with the DELETE of $path is a 404 and changes nothing",
	async ({ path: deleted, scope }) => {
		const first = await furnished();
		for (const [i, { method, path }] of writesOf(first, address(deleted, first)).entries()) {
			const home = await furnished();
			const object = address(deleted, home);
			const write = writesOf(home, object)[i];
			const other = await keyFor(home.owner.id);
			const answer = await home.ask(method, write?.address ?? "", {
				body: write?.body?.(home),
				env: racing(() => call("DELETE", object, { key: other })),
			});
			const word = `${method} ${path.slice(path.lastIndexOf("/"))}`;
			const otherwise = Object.entries(OTHERS).find(([write]) => write === word)?.[1];
			expect([404, otherwise], `${scope}: ${method} ${path}`).toContain(answer.status);
			expect(await entriesOf(home, "updated"), `${scope}: ${method} ${path}`).toEqual([]);
		}
	},
);

describe("what a new object needs", () => {
	test("may be deleted meanwhile: a config of the plugin is rejected", async () => {
		const { ask, project, id } = await furnished();
		const plugins = `/api/organizations/${id}/pipeline_destinations`;
		const created = await ask("POST", plugins, { body: {} });
		const response = await ask("POST", `/api/projects/${project}/plugin_configs`, {
			body: { plugin: created.body.id, order: 1 },
			env: racing(() => ask("DELETE", `${plugins}/${created.body.id}`)),
		});
		expect(response).toMatchObject({ status: 400, body: { attr: "plugin" } });
	});

	test("may be deleted meanwhile: who leaves the organization doesn't become a member of its project", async () => {
		const { ask, project, id } = await furnished();
		const { uuid } = await join(id, 1);
		const response = await ask("POST", `/api/projects/${project}/members`, {
			body: { user_uuid: uuid, level: 1 },
			env: racing(() => ask("DELETE", `/api/organizations/${id}/members/${uuid}`)),
		});
		expect(response.status).toBe(404);
	});
});

test("two owners who demote each other at once leave one owner", async () => {
	const { id, ask, owner } = await furnished();
	const other = await join(id, 15);
	const demote = (uuid: string, key: string) =>
		call("PATCH", `/api/organizations/${id}/members/${uuid}`, { key, body: { level: 8 } });
	const one = await ask("PATCH", `/api/organizations/${id}/members/${other.uuid}`, {
		body: { level: 8 },
		env: racing(() => demote(owner.uuid, other.key)),
	});
	expect(one.status).toBe(403);
	const answers = await Promise.all([demote(owner.uuid, other.key), demote(other.uuid, owner.key)]);
	expect(answers.map(({ status }) => status)).toContain(403);
	const owners = and(eq(members.organization_id, organizationId(id)), eq(members.level, 15));
	expect(await db.$count(members, owners)).toBe(1);
});

describe("two changes of one object that race", () => {
	test("both hold: a service account's name and its level", async () => {
		const { here, account } = await furnished();
		const path = `/service_accounts/${account}`;
		const response = await here("PATCH", path, {
			body: { level: 8 },
			env: racing(() => here("PATCH", path, { body: { name: "Renamed" } })),
		});
		expect(response.status).toBe(200);
		expect((await here("GET", path)).body).toMatchObject({ name: "Renamed", level: 8 });
	});

	test("don't enable a webhook without its deliveries", async () => {
		const { here, webhook } = await furnished();
		const path = `/webhooks/${webhook}`;
		const its = eq(webhooks.id, webhook);
		await db.update(webhooks).set({ enabled: true }).where(its);
		const response = await here("PATCH", path, {
			body: { description: "Mine", enabled: true },
			env: racing(() => here("PATCH", path, { body: { enabled: false } })),
		});
		expect(response).toMatchObject({
			status: 200,
			body: { enabled: true, description: "Mine", next_attempt_at: expect.any(String) },
		});
	});
});

test("a member who becomes an owner during a DELETE is not removed, even by an owner", async () => {
	const { id, ask } = await furnished();
	const admin = await join(id, 8);
	const its = eq(members.user_id, admin.id);
	const raise = () => db.update(members).set({ level: 15 }).where(its);
	const response = await ask("DELETE", `/api/organizations/${id}/members/${admin.uuid}`, {
		env: racing(async () => raise()),
	});
	expect(response).toMatchObject({
		status: 400,
		body: { detail: "Cannot leave the organization as its owner!" },
	});
	expect(await db.select().from(members).where(its)).toMatchObject([{ level: 15 }]);
});

describe("a write that conflicts with another request", () => {
	let value = 0;
	/** The write, a change by another request at the same time, and how the response shows both. */
	const writes: [
		string,
		(home: World) => [method: string, path: string, body: object],
		(home: World) => PromiseLike<unknown>,
	][] = [
		[
			"PATCH of a domain",
			({ id, domain }) => [
				"PATCH",
				`/api/organizations/${id}/domains/${domain}`,
				{ saml_acs_url: "https://idp.example.com" },
			],
			({ domain }) =>
				db
					.update(domains)
					.set({ saml_entity_id: `entity-${value++}` })
					.where(eq(domains.id, domain)),
		],
		[
			"PATCH of a plugin config",
			({ project, config }) => [
				"PATCH",
				`/api/projects/${project}/plugin_configs/${config}`,
				{ name: "Renamed" },
			],
			({ config }) =>
				db
					.update(pluginConfigs)
					.set({ config: { value: value++ } })
					.where(eq(pluginConfigs.id, config)),
		],
		[
			"PATCH of an export",
			({ id, batch_export }) => [
				"PATCH",
				`/api/organizations/${id}/batch_exports/${batch_export}`,
				{ name: "Renamed" },
			],
			({ batch_export }) =>
				db
					.update(batchExports)
					.set({
						end_at: new Date(Date.now() + value++ * 3_600_000).toISOString(),
					})
					.where(eq(batchExports.uuid, batch_export)),
		],
		[
			"unpause of an export",
			({ id, batch_export }) => [
				"POST",
				`/api/organizations/${id}/batch_exports/${batch_export}/unpause`,
				{},
			],
			({ batch_export }) =>
				db
					.update(batchExports)
					.set({
						end_at: new Date(Date.now() + value++ * 3_600_000).toISOString(),
					})
					.where(eq(batchExports.uuid, batch_export)),
		],
	];

	describe.each(writes)("%s", (_, write, interfere) => {
		const attempt = async (again: boolean) => {
			const home = await furnished();
			await db
				.update(batchExports)
				.set({ paused: true })
				.where(eq(batchExports.uuid, home.batch_export));
			const [method, path, body] = write(home);
			const env = racing(async () => interfere(home), { again });
			return home.ask(method, path, { body, env });
		};

		test("is retried", async () => {
			const response = await attempt(false);
			expect([response.status, cost(response).trips]).toEqual([200, 4]);
		});

		test("is a 409 after three retries", async () => {
			const response = await attempt(true);
			expect(response).toMatchObject({
				status: 409,
				body: { type: "invalid_request", code: "conflict", attr: null },
			});
			expect(cost(response).trips).toBe(8);
		});
	});
});
