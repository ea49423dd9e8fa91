import { expect, test } from "vitest";
import { call, join, world } from "../../support/world.ts";

type World = Awaited<ReturnType<typeof world>>;

/** The values in the newest entry of the scope: the first ones of what was created, or the last. */
async function valuesIn(home: World, scope: string, activity: "created" | "deleted" | "revoked") {
	const { body } = await home.here("GET", `/activity_log?scope=${scope}&activity=${activity}`);
	const [entry] = body.results;
	const side = activity === "created" ? "after" : "before";
	return Object.fromEntries(
		entry.detail.changes.map((change: Record<string, unknown>) => {
			expect(change).toMatchObject({ action: activity === "created" ? "created" : "deleted" });
			expect(change[side === "after" ? "before" : "after"]).toBeNull();
			return [change.field, change[side]];
		}),
	);
}

test("an invite as owner and one as member are told apart", async () => {
	const home = await world();
	for (const level of [1, 15]) {
		const target_email = `level-${level}@tenantry.test`;
		const invite = await home.here("POST", "/invites", { body: { target_email, level } });
		expect(await valuesIn(home, "Invite", "created")).toEqual({ target_email, level });
		await home.here("DELETE", `/invites/${invite.body.id}`);
		expect(await valuesIn(home, "Invite", "deleted")).toEqual({ target_email, level });
	}
});

test("a key with all scopes and one with a single one are told apart; other organizations are masked", async () => {
	const home = await world();
	for (const scopes of [["*"], ["project:read"]]) {
		const body = { label: "K", scopes, scoped_organizations: [home.id] };
		const made = await home.ask("POST", "/api/personal_api_keys", { body });
		const values = { label: "K", scopes, scoped_organizations: "********" };
		expect(await valuesIn(home, "PersonalApiKey", "created")).toEqual(values);
		await home.ask("DELETE", `/api/personal_api_keys/${made.body.id}`);
		expect(await valuesIn(home, "PersonalApiKey", "deleted")).toEqual(values);
	}
});

test("an export's entries say where it goes, without its secrets; long values are cut", async () => {
	const home = await world();
	const secret = "the-secret-of-the-bucket";
	const config = {
		...{ bucket_name: "ours", region: "eu-north-1", prefix: "p".repeat(300) },
		...{ aws_access_key_id: "AKIA", aws_secret_access_key: secret },
	};
	const body = {
		...{ name: "Hourly", interval: "hour", paused: true, destination: { type: "S3", config } },
		xql_query: undefined,
	};
	const made = await home.here("POST", "/batch_exports", { body });
	expect(made.status).toBe(201);
	const { aws_secret_access_key: _, ...kept } = made.body.destination.config;
	const values = await valuesIn(home, "BatchExport", "created");
	expect(values).toEqual({
		...{ name: "Hourly", interval: "hour", paused: true },
		destination: { type: "S3", config: kept },
	});
	await home.here("DELETE", `/batch_exports/${made.body.id}`);
	expect(await valuesIn(home, "BatchExport", "deleted")).toMatchObject({
		destination: values.destination,
	});
	const { body: log } = await home.here("GET", "/activity_log", {
		headers: { accept: "text/csv" },
	});
	expect(log).not.toContain(secret);
});

test("a domain's secrets are masked, and a plugin's config is", async () => {
	const home = await world();
	const oidc_client_secret = "the-secret-of-the-provider";
	const domain = "audit-values.example.com";
	const made = await home.here("POST", "/domains", {
		body: { domain, oidc_client_id: "ours", oidc_client_secret },
	});
	expect(await valuesIn(home, "Domain", "created")).toMatchObject({
		...{ domain, oidc_client_id: "ours", oidc_client_secret: "********" },
	});
	await home.here("DELETE", `/domains/${made.body.id}`);
	expect(await valuesIn(home, "Domain", "deleted")).toMatchObject({
		...{ domain, oidc_client_secret: "********" },
	});
	const plugin = await home.here("POST", "/pipeline_destinations", {
		body: { name: "P", description: "x".repeat(2000), plugin_type: "source" },
	});
	const { description } = await valuesIn(home, "Plugin", "created");
	expect(description).toHaveLength(501);
	const config = await home.ask("POST", `/api/projects/${home.project}/plugin_configs`, {
		body: { plugin: plugin.body.id, enabled: false, order: 1, config: { token: "secret-token" } },
	});
	expect(config.status).toBe(201);
	expect(await valuesIn(home, "PluginConfig", "created")).toMatchObject({
		...{ plugin: plugin.body.id, config: "********" },
	});
	await home.ask("DELETE", `/api/projects/${home.project}/plugin_configs/${config.body.id}`);
	expect(await valuesIn(home, "PluginConfig", "deleted")).toMatchObject({ config: "********" });
	const { body: log } = await home.here("GET", "/activity_log", {
		headers: { accept: "text/csv" },
	});
	expect(log).not.toMatch(/secret-token|the-secret-of/);
});

test("a webhook's URL isn't said, which may contain a secret, nor where an audit stream goes", async () => {
	const home = await world();
	const made = await home.here("POST", "/webhooks", {
		body: { url: "https://hooks.example.com/T0/secret-path", enabled: false, types: ["member.*"] },
	});
	expect(made.status).toBe(201);
	expect(await valuesIn(home, "Webhook", "created")).toEqual({
		enabled: false,
		types: ["member.*"],
	});
	await home.here("DELETE", `/webhooks/${made.body.id}`);
	expect(await valuesIn(home, "Webhook", "deleted")).toMatchObject({ types: ["member.*"] });
	const stream = {
		name: "S",
		enabled: false,
		destination: { type: "R2", config: { prefix: "p" } },
	};
	await home.here("POST", "/audit_streams", { body: stream });
	const values = { name: "S", enabled: false, destination: "R2" };
	expect(await valuesIn(home, "AuditStream", "created")).toEqual(values);
	const { body: log } = await home.here("GET", "/activity_log", {
		headers: { accept: "text/csv" },
	});
	expect(log).not.toContain("secret-path");
});

test("members have their level, projects and service accounts what they began with", async () => {
	const home = await world();
	const member = await join(home.id, 8);
	const path = `/api/projects/${home.project}/members`;
	await home.ask("POST", path, { body: { user_uuid: member.uuid, level: 8 } });
	expect(await valuesIn(home, "ProjectMember", "created")).toEqual({ level: 8 });
	await home.ask("DELETE", `${path}/${member.uuid}`);
	expect(await valuesIn(home, "ProjectMember", "deleted")).toEqual({ level: 8 });
	await home.here("DELETE", `/members/${member.uuid}`);
	// Its key no longer reaches the organization.
	expect(await valuesIn(home, "Member", "deleted")).toEqual({ level: 8, keys: 1 });
	const account = await home.here("POST", "/service_accounts", {
		body: { name: "Deploy", level: 8 },
	});
	expect(await valuesIn(home, "ServiceAccount", "created")).toEqual({ name: "Deploy", level: 8 });
	expect(await valuesIn(home, "Member", "created")).toEqual({ level: 8 });
	await home.here("POST", `/service_accounts/${account.body.id}/keys`, {
		body: { label: "K", scopes: ["*"] },
	});
	expect(await valuesIn(home, "ServiceAccountKey", "created")).toMatchObject({ scopes: ["*"] });
	const project = await home.here("POST", "/projects", {
		body: { name: "Quiet", access_control: true },
	});
	expect(await valuesIn(home, "Project", "created")).toEqual({
		name: "Quiet",
		access_control: true,
	});
	await home.here("DELETE", `/projects/${project.body.id}`);
	expect(await valuesIn(home, "Project", "deleted")).toMatchObject({ access_control: true });
	const created = await call("POST", "/api/organizations", {
		key: home.key,
		body: { name: "Second", logs_addresses: false },
	});
	const log = await call("GET", `/api/organizations/${created.body.id}/activity_log`, {
		key: home.key,
	});
	const [joined, organization] = log.body.results;
	expect(joined.detail.changes).toMatchObject([{ field: "level", after: 15 }]);
	expect(organization.detail.changes).toMatchObject([
		{ field: "name" },
		{ field: "logs_addresses" },
	]);
});
