import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { domains } from "../../src/db/schema/domains.ts";
import { members } from "../../src/db/schema/members.ts";
import { pluginConfigs } from "../../src/db/schema/plugin_configs.ts";
import { call, cost, db, furnished, join, keyFor, racing } from "../support/world.ts";

type World = Awaited<ReturnType<typeof furnished>>;

/** Each kind of object: its path, and the scope of its entries in the activity log. */
const objects: [string, string, (home: World) => string][] = [
	["an organization", "Organization", ({ id }) => `/api/organizations/${id}`],
	["a project", "Project", ({ project }) => `/api/projects/${project}`],
	[
		"a project of an organization",
		"Project",
		({ id, project }) => `/api/organizations/${id}/projects/${project}`,
	],
	[
		"a project member",
		"ProjectMember",
		({ project, member }) => `/api/projects/${project}/members/${member}`,
	],
	["a member", "Member", ({ id, member }) => `/api/organizations/${id}/members/${member}`],
	["an invite", "Invite", ({ id, invite }) => `/api/organizations/${id}/invites/${invite}`],
	["a domain", "Domain", ({ id, domain }) => `/api/organizations/${id}/domains/${domain}`],
	[
		"a plugin",
		"Plugin",
		({ id, destination }) => `/api/organizations/${id}/pipeline_destinations/${destination}`,
	],
	[
		"a plugin config",
		"PluginConfig",
		({ project, config }) => `/api/projects/${project}/plugin_configs/${config}`,
	],
	[
		"an export",
		"BatchExport",
		({ id, batch_export }) => `/api/organizations/${id}/batch_exports/${batch_export}`,
	],
	[
		"an audit stream",
		"AuditStream",
		({ id, audit_stream }) => `/api/organizations/${id}/audit_streams/${audit_stream}`,
	],
	["a webhook", "Webhook", ({ id, webhook }) => `/api/organizations/${id}/webhooks/${webhook}`],
	[
		"a service account",
		"ServiceAccount",
		({ id, account }) => `/api/organizations/${id}/service_accounts/${account}`,
	],
	[
		"a service account's key",
		"ServiceAccountKey",
		({ id, account, account_key }) =>
			`/api/organizations/${id}/service_accounts/${account}/keys/${account_key}`,
	],
	["a key", "PersonalApiKey", ({ key_id }) => `/api/personal_api_keys/${key_id}`],
];

describe.each(objects)("20 parallel DELETEs of %s", (_, scope, at) => {
	let home: World;
	beforeAll(async () => {
		home = await furnished();
	});

	test("delete it once: one 204, the others 404, one entry in the activity log", async () => {
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => home.ask("DELETE", at(home))),
		);
		const statuses = answers.map(({ status }) => status).sort();
		expect(statuses).toEqual([204, ...Array(19).fill(404)]);
		const text = scope === "Project" ? "Project not found." : "Not found.";
		for (const { status, body } of answers)
			if (status === 404) expect(body).toMatchObject({ code: "not_found", detail: text });
		const entries = await db
			.select()
			.from(activityLog)
			.where(and(eq(activityLog.user_id, home.owner.id), eq(activityLog.activity, "deleted")));
		expect(entries.map(({ scope }) => scope)).toEqual([scope]);
	});
});

test("a DELETE of an object that another request has just deleted is a 404, in two round trips", async () => {
	for (const [, scope, at] of objects) {
		const home = await furnished();
		const other = await keyFor(home.owner.id);
		const response = await home.ask("DELETE", at(home), {
			env: racing(() => call("DELETE", at(home), { key: other })),
		});
		expect({ scope, status: response.status }).toEqual({ scope, status: 404 });
		// These are read again, since the member may have been promoted instead, or the plugin made global.
		const isReadAgain = ["Member", "Plugin"].includes(scope);
		expect(cost(response).trips).toBe(isReadAgain ? 3 : 2);
	}
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
					.where(eq(batchExports.id, batch_export)),
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
					.where(eq(batchExports.id, batch_export)),
		],
	];

	describe.each(writes)("%s", (_, write, interfere) => {
		const attempt = async (again: boolean) => {
			const home = await furnished();
			await db
				.update(batchExports)
				.set({ paused: true })
				.where(eq(batchExports.id, home.batch_export));
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
