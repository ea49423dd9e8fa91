import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { AUDITOR, accessControls } from "../../../src/db/schema/access.ts";
import {
	call,
	db,
	furnished,
	join,
	keyFor,
	racing,
	serviceAccount,
	world,
} from "../../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

/** Returns a function that gives access as the owner. */
const giver =
	({ here }: Pick<Home, "here">) =>
	async (resource: string, access_level: string, of: object = {}) => {
		const given = await here("POST", "/access_controls", {
			body: { resource, access_level, ...of },
		});
		expect(given.status).toBe(201);
		return given.body;
	};

/** Creates a member of level 1, with functions that send requests in their name. */
async function plain({ id }: Pick<Home, "id">) {
	const user = await join(id, 1);
	const key = await keyFor(user.id);
	const ask = (method: string, path: string, options = {}) =>
		call(method, path, { key, ...options });
	return {
		...user,
		key,
		ask,
		here: (method: string, path: string, options = {}) =>
			ask(method, `/api/organizations/${id}${path}`, options),
	};
}

const DESTINATION = { type: "NoOp", config: {} };

describe("access controls", () => {
	test("without them, a member of level 1 does what it always could; everyone's limit it, a role's and one's own go before", async () => {
		const home = await furnished();
		const give = giver(home);
		const ada = await plain(home);
		const path = `/batch_exports/${home.batch_export}`;
		expect((await ada.here("PATCH", path, { body: { name: "A" } })).status).toBe(200);

		await give("batch_export", "viewer");
		expect((await ada.here("GET", path)).status).toBe(200);
		const refused = await ada.here("PATCH", path, { body: { name: "B" } });
		expect(refused).toMatchObject({
			status: 403,
			body: {
				code: "permission_denied",
				detail:
					"This requires the access level editor to batch_export; yours is viewer. An admin of the organization can change it.",
			},
		});
		const creation = { name: "N", interval: "hour", destination: DESTINATION };
		expect((await ada.here("POST", "/batch_exports", { body: creation })).status).toBe(403);

		const role = await home.here("POST", "/roles", { body: { name: "Data" } });
		const added = { body: { member: ada.uuid } };
		expect((await home.here("POST", `/roles/${role.body.id}/members`, added)).status).toBe(201);
		const ofRole = await give("batch_export", "editor", { role: role.body.id });
		expect((await ada.here("PATCH", path, { body: { name: "B" } })).status).toBe(200);
		expect((await ada.here("DELETE", path)).body.detail).toContain("manager to batch_export");

		await give("batch_export", "none", { resource_id: home.batch_export, member: ada.uuid });
		for (const method of ["GET", "PATCH", "DELETE"])
			expect(
				(await ada.here(method, path, { ...(method === "PATCH" && { body: {} }) })).status,
			).toBe(404);
		expect((await ada.here("GET", `${path}/runs`)).status).toBe(404);
		const list = await ada.here("GET", "/batch_exports");
		expect(list.body).toMatchObject({ count: 0, results: [] });
		const inProject = await ada.ask("GET", `/api/projects/${home.project}/batch_exports`);
		expect(inProject.body).toMatchObject({ count: 0, results: [] });

		expect((await home.here("DELETE", `/access_controls/${ofRole.id}`)).status).toBe(204);
		expect((await home.here("DELETE", `/roles/${role.body.id}`)).status).toBe(204);
		const { body } = await home.here("GET", "/access_controls");
		expect(body.count).toBe(3);
	});

	test("of an object go before those of all, and what doesn't exist is a 404 for every method", async () => {
		const home = await furnished();
		const give = giver(home);
		const ada = await plain(home);
		await give("webhook", "viewer", { member: ada.uuid, resource_id: home.webhook });
		await give("domain", "none");
		await give("domain", "viewer", { resource_id: home.domain });
		await give("plugin", "none", { resource_id: String(home.destination) });
		const lists = await Promise.all(
			["/webhooks", "/domains", "/plugins", "/pipeline_destinations", "/batch_exports"].map(
				async (path) => (await ada.here("GET", path)).body.count,
			),
		);
		expect(lists).toEqual([1, 1, 2, 0, 1]);
		expect((await ada.here("PATCH", `/webhooks/${home.webhook}`, { body: {} })).status).toBe(403);
		expect((await ada.here("GET", `/webhooks/${home.domain}`)).status).toBe(404);
		expect((await ada.here("POST", "/webhooks", { body: {} })).status).toBe(403);
		expect((await ada.here("DELETE", `/pipeline_destinations/${home.destination}`)).status).toBe(
			404,
		);
		expect((await ada.here("DELETE", "/pipeline_destinations/999999999")).status).toBe(404);
		const created = await ada.ask("POST", `/api/projects/${home.project}/plugin_configs`, {
			body: { plugin: home.destination, order: 1 },
		});
		expect(created.body).toMatchObject({ code: "does_not_exist", attr: "plugin" });
	});

	test("of a plugin hold for the logs of its configs", async () => {
		const home = await furnished();
		const ada = await plain(home);
		const logs = `/api/projects/${home.project}/plugin_configs/${home.config}/logs`;
		expect((await ada.ask("GET", logs)).status).toBe(200);
		await giver(home)("plugin", "none", { member: ada.uuid });
		expect((await ada.ask("GET", logs)).status).toBe(404);
	});

	test("to view a project don't let an invite give more", async () => {
		const home = await furnished();
		const ada = await plain(home);
		await giver(home)("project", "viewer", { resource_id: String(home.project) });
		const body = {
			target_email: `${crypto.randomUUID()}@example.com`,
			private_project_access: [{ id: home.project, level: 1 }],
		};
		expect(await ada.here("POST", "/invites", { body })).toMatchObject({ status: 400 });
		expect((await home.here("POST", "/invites", { body })).status).toBe(201);
	});

	test("let nobody duplicate an export who may not create one", async () => {
		const home = await furnished();
		const give = giver(home);
		const ada = await plain(home);
		const path = `/batch_exports/${home.batch_export}/duplicate`;
		expect((await ada.here("POST", path, { body: {} })).status).toBe(201);
		await give("batch_export", "viewer");
		await give("batch_export", "manager", { resource_id: home.batch_export });
		expect((await ada.here("POST", path, { body: {} })).status).toBe(403);
	});

	test("to a project limit what is in it, and hide it", async () => {
		const home = await furnished();
		const give = giver(home);
		const ada = await plain(home);
		const project = `/api/projects/${home.project}`;
		const ofProject = { resource_id: String(home.project), member: ada.uuid };
		await give("project", "viewer", ofProject);
		expect((await ada.ask("GET", project)).status).toBe(200);
		expect((await ada.ask("POST", `${project}/events`, { body: [] })).status).toBe(403);
		for (const base of [project, `/api/organizations/${home.id}`])
			expect(
				(
					await ada.ask("PATCH", `${base}/batch_exports/${home.batch_export}`, {
						body: { name: "X" },
					})
				).status,
			).toBe(403);
		await give("project", "none", ofProject);
		for (const path of [
			"",
			"/batch_exports",
			"/members",
			"/activity_log",
			`/batch_exports/${home.batch_export}`,
		])
			expect((await ada.ask("GET", `${project}${path}`)).status).toBe(404);
		expect((await ada.here("GET", `/batch_exports/${home.batch_export}`)).status).toBe(404);
		expect((await ada.here("GET", "/batch_exports")).body.count).toBe(0);
		expect((await ada.ask("GET", "/api/projects")).body).toMatchObject({ count: 0, results: [] });
		expect((await ada.here("GET", "")).body.teams).toEqual([]);
		expect((await ada.here("GET", "/projects")).body).toMatchObject({ count: 0, results: [] });
	});

	test("the allowed_hosts of a config need manager access, also without access controls", async () => {
		const home = await furnished();
		const ada = await plain(home);
		const path = `/api/projects/${home.project}/plugin_configs/${home.config}`;
		const hosts = { config: { allowed_hosts: ["example.com"] } };
		expect((await ada.ask("PATCH", path, { body: hosts })).body.detail).toContain(
			"manager to plugin",
		);
		expect((await ada.ask("PATCH", path, { body: { config: { other: "x" } } })).status).toBe(200);
		const config = { plugin: home.destination, order: 1, ...hosts };
		const configs = `/api/projects/${home.project}/plugin_configs`;
		expect((await ada.ask("POST", configs, { body: config })).status).toBe(403);
		await giver(home)("plugin", "manager", { member: ada.uuid });
		expect((await ada.ask("PATCH", path, { body: hosts })).status).toBe(200);
		expect((await ada.ask("POST", configs, { body: config })).status).toBe(201);
	});

	test("admins, and admins of the project, manage all", async () => {
		const home = await furnished();
		const give = giver(home);
		for (const resource of [
			"project",
			"batch_export",
			"plugin",
			"webhook",
			"domain",
			"organization_member",
			"activity_log",
		])
			await give(resource, "none");
		const admin = await join(home.id, 8);
		const key = await keyFor(admin.id);
		const path = `/api/organizations/${home.id}/batch_exports`;
		expect((await call("GET", path, { key })).body.count).toBe(1);
		expect((await call("DELETE", `${path}/${home.batch_export}`, { key })).status).toBe(204);
		const ada = await plain(home);
		const member = { body: { user_uuid: ada.uuid, level: 8 } };
		await home.ask("POST", `/api/projects/${home.project}/members`, member);
		const configs = await ada.ask("GET", `/api/projects/${home.project}/plugin_configs`);
		expect(configs.body.count).toBe(1);
		expect((await ada.here("GET", "/members")).body.detail).toContain(
			"viewer to organization_member",
		);
	});

	test("a service account is limited like a member", async () => {
		const home = await furnished();
		const { id, user_id } = await serviceAccount(home);
		const key = await keyFor(user_id);
		await giver(home)("batch_export", "viewer", { member: id });
		const path = `/api/organizations/${home.id}/batch_exports/${home.batch_export}`;
		expect((await call("GET", path, { key })).status).toBe(200);
		expect((await call("DELETE", path, { key })).status).toBe(403);
	});

	test("twenty parallel changes of one leave one", async () => {
		const home = await world();
		const levels = ["none", "viewer", "editor", "manager"];
		const answers = await Promise.all(
			Array.from({ length: 20 }, (_, i) =>
				home.here("POST", "/access_controls", {
					body: { resource: "plugin", access_level: levels[i % 4] },
				}),
			),
		);
		expect(answers.every(({ status }) => [201, 409].includes(status))).toBe(true);
		const rows = await db
			.select()
			.from(accessControls)
			.where(eq(accessControls.organization_id, home.organization_id));
		expect(rows).toHaveLength(1);
	});

	test.each([
		[{ resource: "nothing", access_level: "viewer" }, "resource", "invalid_choice"],
		[{ resource: "plugin", access_level: "owner" }, "access_level", "invalid_choice"],
		[{ resource: "plugin" }, "access_level", "required"],
		[
			{ resource: "activity_log", resource_id: "1", access_level: "none" },
			"resource_id",
			"invalid_input",
		],
		[
			{ resource: "project", resource_id: "9999999", access_level: "none" },
			"resource_id",
			"does_not_exist",
		],
		[
			{ resource: "batch_export", resource_id: "'; --", access_level: "none" },
			"resource_id",
			"does_not_exist",
		],
		[
			{ resource: "plugin", resource_id: "01", access_level: "none" },
			"resource_id",
			"does_not_exist",
		],
		[{ resource: "plugin", role: AUDITOR, access_level: "none" }, "role", "invalid_input"],
		[
			{ resource: "plugin", role: crypto.randomUUID(), access_level: "none" },
			"role",
			"does_not_exist",
		],
		[
			{ resource: "plugin", member: crypto.randomUUID(), access_level: "none" },
			"member",
			"does_not_exist",
		],
	])("%j is a 400 on %s", async (body, attr, code) => {
		const home = await world();
		expect(await home.here("POST", "/access_controls", { body })).toMatchObject({
			status: 400,
			body: { attr, code },
		});
	});

	test("roles, members and objects of another organization are a 400, and its access controls a 404", async () => {
		const [home, other] = await Promise.all([furnished(), furnished()]);
		const role = await other.here("POST", "/roles", { body: { name: "Data" } });
		const theirs = await giver(other)("plugin", "none");
		for (const [of, attr] of [
			[{ role: role.body.id }, "role"],
			[{ member: other.owner.uuid }, "member"],
			[{ resource_id: String(other.destination) }, "resource_id"],
		] as const) {
			const body = { resource: "plugin", access_level: "none", ...of };
			expect((await home.here("POST", "/access_controls", { body })).body.attr).toBe(attr);
		}
		for (const method of ["GET", "DELETE"])
			expect((await home.here(method, `/access_controls/${theirs.id}`)).status).toBe(404);
		expect((await home.here("GET", `/roles/${role.body.id}/members`)).status).toBe(404);
	});

	test("only admins give access", async () => {
		const home = await furnished();
		const ada = await plain(home);
		for (const resource of ["organization_member", "project"])
			await giver(home)(resource, "manager", { member: ada.uuid });
		const body = { resource: "plugin", access_level: "manager", member: ada.uuid };
		expect((await ada.here("POST", "/access_controls", { body })).status).toBe(403);
		expect(
			(await ada.here("POST", `/roles/${AUDITOR}/members`, { body: { member: ada.uuid } })).status,
		).toBe(403);
	});
});

/** Changes what Ada may do between the two round trips of a request. */
const CHANGES: Record<string, (home: Home, ada: { uuid: string }) => Promise<unknown>> = {
	"of everyone": (home) => giver(home)("batch_export", "viewer"),
	"of a member": (home, { uuid }) => giver(home)("batch_export", "none", { member: uuid }),
	"of a role": async (home, { uuid }) => {
		await home.here("POST", `/roles/${home.role}/members`, { body: { member: uuid } });
		await giver(home)("batch_export", "viewer", { role: home.role });
	},
	"by a role that is given": (home, { uuid }) =>
		home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: uuid } }),
	"to the project": (home, { uuid }) =>
		giver(home)("project", "none", { resource_id: String(home.project), member: uuid }),
};

describe("a change of access that races a write wins", () => {
	test.each(Object.entries(CHANGES))("%s", async (_, change) => {
		const home = await furnished();
		const ada = await plain(home);
		const path = `/api/organizations/${home.id}/batch_exports/${home.batch_export}`;
		const env = racing(() => change(home, ada));
		const { status, body } = await call("PATCH", path, {
			key: ada.key,
			body: { name: "Late" },
			env,
		});
		expect([status, body.detail]).toEqual([403, "Your access changed during the request."]);
		expect((await home.ask("GET", path)).body.name).toBe("Export");
	});

	test("also of an admin of the project who may not view it any more", async () => {
		const home = await furnished();
		const ada = await plain(home);
		const member = { body: { user_uuid: ada.uuid, level: 8 } };
		await home.ask("POST", `/api/projects/${home.project}/members`, member);
		const path = `/api/projects/${home.project}/batch_exports/${home.batch_export}`;
		const env = racing(async () => CHANGES["to the project"]?.(home, ada));
		const body = { name: "Late" };
		expect((await call("PATCH", path, { key: ada.key, body, env })).status).toBe(403);
		expect((await call("PATCH", path, { key: ada.key, body })).status).toBe(404);
		expect((await home.ask("GET", path)).body.name).toBe("Export");
	});
});

describe("auditors", () => {
	test("view everything, also private projects and what requires level 8, and keep their own account", async () => {
		const home = await furnished();
		const give = giver(home);
		const ada = await plain(home);
		await give("batch_export", "editor");
		await give("project", "none", { resource_id: String(home.project) });
		const member = { body: { member: ada.uuid } };
		expect((await home.here("POST", `/roles/${AUDITOR}/members`, member)).status).toBe(201);
		for (const path of [
			"/webhooks",
			"/audit_streams",
			"/service_accounts",
			"/roles",
			"/access_controls",
			"/activity_log",
			"/batch_exports",
			"/members/access_review",
			"/members?inactive_since=2026-01-01",
		])
			expect({ path, status: (await ada.here("GET", path)).status }).toEqual({ path, status: 200 });
		expect((await ada.here("GET", "/batch_exports")).body.count).toBe(1);
		expect((await ada.here("DELETE", `/batch_exports/${home.batch_export}`)).status).toBe(403);
		const own = { body: { label: "Mine", scopes: ["*"] } };
		expect((await ada.ask("POST", "/api/personal_api_keys", own)).status).toBe(201);
		expect((await ada.here("DELETE", "/members/@me")).status).toBe(204);
	});

	test("are a role that can't be changed", async () => {
		const home = await world();
		const { body } = await home.here("GET", "/roles");
		expect(body.results).toMatchObject([{ id: AUDITOR, name: "Auditor", is_built_in: true }]);
		expect((await home.here("DELETE", `/roles/${AUDITOR}`)).status).toBe(400);
		expect((await home.here("PATCH", `/roles/${AUDITOR}`, { body: { name: "X" } })).status).toBe(
			400,
		);
		expect((await home.here("POST", "/roles", { body: { name: "auditor" } })).body.code).toBe(
			"unique",
		);
	});
});

describe("access is explained", () => {
	test("with what decides, for a member and for an object", async () => {
		const home = await furnished();
		const give = giver(home);
		const ada = await plain(home);
		await give("batch_export", "viewer");
		const own = await give("batch_export", "none", {
			resource_id: home.batch_export,
			member: ada.uuid,
		});
		const of = `resource=batch_export&resource_id=${home.batch_export}`;
		const { body } = await home.here("GET", `/access?member=${ada.uuid}&${of}`);
		expect(body.results).toMatchObject([
			{
				resource: "batch_export",
				access_level: "none",
				can_view: false,
				decided_by: "access_control",
				access_controls: [
					{ id: own.id, given_to: "member", decides: true },
					{ given_to: "everyone", decides: false },
				],
			},
		]);
		const who = await home.here("GET", `/access?${of}`);
		const uuids = who.body.results.map((each: { member: { uuid: string } }) => each.member.uuid);
		expect(uuids).toContain(home.owner.uuid);
		expect(uuids).toContain(home.member);
		expect(uuids).not.toContain(ada.uuid);
		expect(who.body.count).toBe(uuids.length);
		// One's own question doesn't tell a hidden object from one that doesn't exist.
		const missing = `resource=batch_export&resource_id=${crypto.randomUUID()}`;
		for (const asked of [of, missing]) {
			expect((await ada.here("GET", `/access?member=@me&${asked}`)).status).toBe(404);
			expect((await ada.here("GET", `/access?${asked}`)).status).toBe(403);
		}
		expect((await home.here("GET", `/access?${missing}`)).status).toBe(404);
		expect((await ada.here("GET", `/access?member=${home.owner.uuid}`)).status).toBe(403);
		// Nor does the list of all of it name a hidden object.
		const all = await ada.here("GET", "/access?member=@me");
		expect(all.body.results.map((each: { access_level: string }) => each.access_level)).toEqual([
			"editor",
			"viewer",
			"editor",
			"none",
			"editor",
			"editor",
			"editor",
		]);
	});
});
