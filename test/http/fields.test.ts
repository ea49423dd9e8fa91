import { expect, test } from "vitest";
import { wrong } from "../support/errors.ts";
import { join, world } from "../support/world.ts";

test("an integer may be sent as text in every body", async () => {
	const { ask, here, id, project } = await world();
	const member = await join(id, 1);
	const raised = await here("PATCH", `/members/${member.uuid}`, { body: { level: "8" } });
	expect(raised.body.level).toBe(8);
	const invite = {
		target_email: "text@tenantry.test",
		level: "15",
		private_project_access: [{ id: String(project), level: "8" }],
	};
	expect((await here("POST", "/invites", { body: invite })).body).toMatchObject({
		level: 15,
		private_project_access: [{ id: project, level: 8 }],
	});
	const plugin = (await here("POST", "/pipeline_destinations", { body: { name: "x" } })).body;
	const configs = `/api/projects/${project}/plugin_configs`;
	const config = await ask("POST", configs, {
		body: { plugin: String(plugin.id), order: "5" },
	});
	expect(config.body).toMatchObject({ plugin: plugin.id, order: 5 });
	expect(
		(
			await ask("PATCH", "/api/users/@me", {
				body: { project: `${project}` },
			})
		).body.project.id,
	).toBe(project);
	const destination = {
		type: "Postgres",
		config: {
			host: "example.com",
			user: "u",
			password: "p",
			database: "d",
			port: "5432",
		},
	};
	const body = { name: "x", interval: "hour", destination };
	const created = await here("POST", "/batch_exports", { body });
	expect(created.body.destination.config.port).toBe(5432);
	const port = (value: unknown) =>
		here("PATCH", `/batch_exports/${created.body.id}`, {
			body: { destination: { config: { port: value } } },
		});
	expect(await port("70000")).toMatchObject(
		wrong(
			"max_value",
			"Ensure this value is less than or equal to 65535.",
			"destination__config__port",
		),
	);
});
test("a choice in the query of runs and logs is taken in any case", async () => {
	const { ask, here, project } = await world();
	const destination = { type: "NoOp", config: {} };
	const exported = await here("POST", "/batch_exports", {
		body: { name: "x", destination, interval: "hour" },
	});
	const at = `/batch_exports/${exported.body.id}`;
	await here("POST", `${at}/pause`);
	expect((await here("GET", `${at}/logs?level=info`)).body.count).toBe(1);
	expect((await here("GET", `${at}/logs?level=error&level=Warning`)).body.count).toBe(0);
	expect((await here("GET", `${at}/logs?level=loud`)).body.attr).toBe("level");
	expect((await here("GET", `${at}/runs?status=RUNNING&status=completed`)).body.count).toBe(0);
	expect((await here("GET", `${at}/runs?status=loud`)).body.attr).toBe("status");
	const plugin = (await here("POST", "/pipeline_destinations", { body: { name: "x" } })).body;
	const configs = `/api/projects/${project}/plugin_configs`;
	const { body } = await ask("POST", configs, {
		body: { plugin: plugin.id, order: 1, enabled: true },
	});
	const logs = (query: string) => ask("GET", `${configs}/${body.id}/logs?${query}`);
	const all = (await logs("")).body;
	expect(all.count).toBeGreaterThan(0);
	const { type } = all.results[0];
	const lower = `type_filter=error&type_filter=${type.toLowerCase()}`;
	expect((await logs(lower)).body.count).toBeGreaterThan(0);
	expect((await logs("type_filter=loud")).body.attr).toBe("type_filter");
});
test("control characters in an event are kept as sent", async () => {
	const { ask, project } = await world();
	const body = [{ event: "a\nb\u0007\u202e", distinct_id: "a\tb", elements_chain: "\u0001" }];
	expect((await ask("POST", `/api/projects/${project}/events`, { body })).status).toBe(200);
});
