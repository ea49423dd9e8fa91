import {
	createExecutionContext,
	createMessageBatch,
	createScheduledController,
	getQueueResult,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { desc, eq, inArray, isNull, sql } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { digests, unseal } from "../../../src/auth/secrets.ts";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { pluginJobs, pluginStorage, taskMinutes } from "../../../src/db/schema/jobs.ts";
import { organizations } from "../../../src/db/schema/organizations.ts";
import { pluginConfigs, pluginLogs } from "../../../src/db/schema/plugin_configs.ts";
import { pluginSourceFiles, plugins } from "../../../src/db/schema/plugins.ts";
import { allowedHosts, Outbound } from "../../../src/plugins/jobs/outbound.ts";
import { newTurn } from "../../../src/plugins/jobs/queue.ts";
import { storage } from "../../../src/plugins/jobs/storage.ts";
import worker from "../../../src/worker.ts";
import { wrong } from "../../support/errors.ts";
import { logOfConfig } from "../../support/logs.ts";
import { systemEvents } from "../../support/system_events.ts";
import { eventually } from "../../support/time.ts";
import { lossy } from "../../support/webhooks.ts";
import { cost, db, weighing, world } from "../../support/world.ts";

const SOURCE = `
export const jobs = {
  async greet(payload, { config, storage, logger }) {
    const times = ((await storage.get('times', 0)) ?? 0) + 1
    await storage.set('times', times)
    console.log('Hello ' + payload.name + ' for the ' + times + '. time')
    logger.info('The token is ' + config.token)
  },
  fail() { throw new Error('It broke with hunter22') },
}
export async function runEveryMinute(meta) { meta.logger.log('A minute') }
export async function runEveryHour(meta) { meta.logger.log('An hour') }
export async function runEveryDay(meta) { meta.logger.log('A day') }
`;

// What the tests before have left running takes no turn from a test's jobs, and the schedule adds
// nothing to it.
beforeEach(async () => {
	await db.batch([
		db.update(pluginConfigs).set({ enabled: false }),
		db.delete(pluginJobs).where(isNull(pluginJobs.lease_expires_at)),
		db.delete(taskMinutes),
	]);
});

const jobsOf = (config: number) =>
	db.select().from(pluginJobs).where(eq(pluginJobs.plugin_config_id, config));

/** Adds a job to the queue, or several, without sending a message. */
const queue = (
	{ id, organization }: { id: number; organization: string },
	job: Partial<typeof pluginJobs.$inferInsert> = {},
	count = 1,
) =>
	db.run(sql`insert into plugin_jobs (turn, organization_id, plugin_config_id, kind, name, payload, lease_expires_at)
		select ${newTurn(organizationId(organization))} + key, ${organizationId(organization)}, ${id}, ${job.kind ?? "job"}, ${job.name ?? "greet"},
			'{"name":"Ada"}', ${job.lease_expires_at ?? null} from json_each(${JSON.stringify(Array(count).fill(0))})`);

/** A project with a config of a plugin that has jobs. */
async function home(source = SOURCE, enabled = true) {
	const here = await world();
	const schema = [{ key: "token", type: "string", secret: true }];
	const plugin = (
		await here.here("POST", "/pipeline_destinations", {
			body: { config_schema: schema },
		})
	).body;
	await here.here("PATCH", `/pipeline_destinations/${plugin.id}/update_source`, {
		body: { "index.js": source },
	});
	const [config] = await db
		.insert(pluginConfigs)
		.values({
			project_id: here.project,
			organization_id: organizationId(here.id),
			plugin_id: plugin.id,
			order: 1,
			enabled,
			enabled_at: new Date().toISOString(),
		})
		.returning();
	const path = `/api/projects/${here.project}/plugin_configs/${config?.id}`;
	await here.ask("PATCH", path, { body: { config: { token: "hunter22" } } });
	const start = (job: unknown) => here.ask("POST", `${path}/job/`, { body: { job } });
	const logs = async () =>
		(await here.ask("GET", `${path}/logs?limit=1000`)).body.results
			.map(
				(entry: { source: string; type: string; message: string }) =>
					`${entry.source} ${entry.type} ${entry.message}`,
			)
			.toReversed();
	const read = async () => (await here.ask("GET", path)).body;
	/** Waits until all jobs have ended, and returns how the last one ended. */
	const ended = async () => {
		await eventually(async () => expect(await jobsOf(config?.id ?? 0)).toEqual([]));
		return (await read()).error === null ? "done" : "failed";
	};
	return {
		...here,
		organization: here.id,
		id: config?.id ?? 0,
		path,
		start,
		logs,
		read,
		ended,
	};
}

const tick = (at: Date | number = Date.now(), bindings: Partial<Env> = {}) =>
	worker.scheduled(
		createScheduledController({
			cron: "* * * * *",
			scheduledTime: new Date(at),
		}),
		{ ...env, ...bindings },
	);

test("a job is queued, runs in a sandbox, and its log says what it did", async () => {
	const { start, logs, read, ended, path } = await home();
	const response = await start({
		type: "greet",
		payload: { name: "Ada" },
		operation: "start",
	});
	expect([response.status, response.body, response.headers.get("content-length")]).toEqual([
		200,
		null,
		"0",
	]);
	expect(response.headers.get("link")).toBe(`<${path}/logs/>; rel="monitor"`);
	expect(await ended()).toBe("done");
	await start({ type: "greet", payload: { name: "Eve" } });
	await eventually(async () =>
		expect((await logs()).join()).toContain("Hello Eve for the 2. time"),
	);
	const entries = await logs();
	expect(entries).toEqual(
		expect.arrayContaining([
			"SYSTEM INFO The job greet was queued.",
			"CONSOLE LOG Hello Ada for the 1. time",
			"PLUGIN INFO The token is ***",
			"SYSTEM INFO The job greet is done.",
		]),
	);
	expect(await read()).toMatchObject({ error: null, delivery_rate_24h: "1" });
	expect(JSON.stringify(await db.select().from(pluginLogs))).not.toContain("hunter22");
});

test("a sealed field that is no longer secret is decrypted for the plugin, but still hidden in the log", async () => {
	const source = `exports.jobs = { go(_, { config }) { console.log(config.token, config.token.length) } }`;
	const { here, read, start, ended, logs } = await home(source);
	const path = `/pipeline_frontend_apps/${(await read()).plugin}`;
	const { status } = await here("PATCH", path, { body: { config_schema: [] } });
	expect(status).toBe(200);
	await start({ type: "go" });
	await ended();
	expect(await logs()).toContain("CONSOLE LOG *** 8");
});

test("a failed job sets the error and the rate, and isn’t run again", async () => {
	const { start, read, ended, logs, organization, project, id } = await home();
	await start({ type: "greet", payload: {} });
	await ended();
	await start({ type: "fail" });
	await eventually(async () => expect((await read()).error).toContain("It broke with ***"));
	expect(await read()).toMatchObject({ delivery_rate_24h: "0.5" });
	expect((await logs()).filter((line: string) => line.includes("It broke"))).toHaveLength(1);
	const events = await systemEvents(organization);
	const job_id = events[0]?.trigger?.job_id;
	expect(events).toEqual([
		{
			type: "plugin_job.failed",
			item_id: String(job_id),
			project_id: project,
			name: "fail",
			changes: [],
			trigger: {
				job_id: expect.any(Number),
				kind: "job",
				plugin_id: expect.any(Number),
				plugin_config_id: id,
				error: expect.stringContaining("It broke with ***"),
				next_step: "Fix the error, then start the job again.",
			},
		},
	]);
});

test("the rate has the results of the last 24 hours, and older ones are deleted", async () => {
	const { id, read, start, ended } = await home();
	const ago = (hours: number) =>
		new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 13);
	const results = { [`${ago(24)} failed`]: 7, [`${ago(23)} failed`]: 3 };
	await db.update(pluginConfigs).set({ results }).where(eq(pluginConfigs.id, id));
	expect(await read()).toMatchObject({ delivery_rate_24h: "0" });
	await start({ type: "greet", payload: {} });
	await ended();
	expect(await read()).toMatchObject({ delivery_rate_24h: "0.25" });
	const [row] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id));
	expect(Object.values(row?.results ?? {})).toEqual([3, 1]);
	const old = { [`${ago(24)} failed`]: 7 };
	await db.update(pluginConfigs).set({ results: old }).where(eq(pluginConfigs.id, id));
	expect(await read()).toMatchObject({ delivery_rate_24h: null });
});

test.each([
	[{}, "invalid_input", "The job type must be specified!", null],
	[{ type: "" }, "invalid_input", "The job type must be specified!", null],
	[{ type: "other" }, "invalid_input", 'The plugin has no job "other".', null],
	[
		{ type: "greet", operation: "stop" },
		"invalid_choice",
		'"stop" is not a valid choice.',
		"job__operation",
	],
	[
		{ type: "greet", payload: [] },
		"invalid_input",
		"Expected a dictionary of items.",
		"job__payload",
	],
	["greet", "invalid_input", "Expected a dictionary of items.", "job"],
])("%j is rejected", async (job, code, detail, attr) => {
	const { start } = await home();
	expect(await start(job)).toMatchObject(wrong(code, detail, attr));
});

test("a public job can be started, and fails if the code doesn’t have it", async () => {
	const { start, read, ended } = await home();
	const { plugin } = await read();
	await db
		.update(plugins)
		.set({ public_jobs: { shown: {} } })
		.where(eq(plugins.id, plugin));
	expect((await start({ type: "shown" })).status).toBe(200);
	expect(await ended()).toBe("failed");
});

describe("a plugin’s main file is compiled when it is saved", () => {
	const go = (body: string) => `export const jobs = { go() { ${body} } };`;
	const rowOf = async (plugin: number) =>
		(await db.select().from(pluginSourceFiles).where(eq(pluginSourceFiles.plugin_id, plugin)))[0];
	const store = (plugin: number, row: Partial<typeof pluginSourceFiles.$inferInsert>) =>
		db.update(pluginSourceFiles).set(row).where(eq(pluginSourceFiles.plugin_id, plugin));

	test("jobs run what was compiled when the file was saved", async () => {
		const { read, start, ended, logs } = await home(go("console.log('saved')"));
		const { plugin } = await read();
		expect(await rowOf(plugin)).toMatchObject({
			compiled: expect.stringContaining("exports.jobs = jobs"),
			error: null,
		});
		await store(plugin, { source: go("console.log('not compiled')") });
		await start({ type: "go" });
		expect(await ended()).toBe("done");
		expect(await logs()).toContain("CONSOLE LOG saved");
	});

	test("each save compiles the file again", async () => {
		const { here, read, start, ended, logs } = await home(go("console.log('first')"));
		const path = `/pipeline_destinations/${(await read()).plugin}/update_source`;
		await here("PATCH", path, { body: { "index.js": go("console.log('second')") } });
		await start({ type: "go" });
		await ended();
		expect(await logs()).toContain("CONSOLE LOG second");
	});

	test("a job compiles a file that was saved before compiled output was kept", async () => {
		const { read, start, ended, logs } = await home(go("console.log('compiled now')"));
		await store((await read()).plugin, { compiled: null });
		await start({ type: "go" });
		expect(await ended()).toBe("done");
		expect(await logs()).toContain("CONSOLE LOG compiled now");
	});

	test("a job compiles a file that is too large to be kept with its output", async () => {
		const source = `// ${"x".repeat(1_040_000)}\n${go("console.log('large')")}`;
		const { read, start, ended, logs } = await home(source);
		expect(await rowOf((await read()).plugin)).toMatchObject({ compiled: null, error: null });
		await start({ type: "go" });
		expect(await ended()).toBe("done");
		expect(await logs()).toContain("CONSOLE LOG large");
	});

	test("the reason why a file doesn’t compile is kept, and its jobs fail with it", async () => {
		const { here, read, start, ended } = await home(go(""));
		const { plugin } = await read();
		const { status } = await here("PATCH", `/pipeline_destinations/${plugin}/update_source`, {
			body: { "index.js": "export const = 5" },
		});
		expect(status).toBe(200);
		const error = "Unexpected token (1:14)";
		expect(await rowOf(plugin)).toMatchObject({ compiled: null, error });
		await start({ type: "go" });
		expect(await ended()).toBe("failed");
		expect((await read()).error).toBe(`The plugin can't be parsed: ${error}`);
	});

	test("where both main files exist, the capabilities are those of index.ts", async () => {
		const { here, read } = await home(go(""));
		const path = `/pipeline_destinations/${(await read()).plugin}`;
		const write = async (files: object) =>
			(await here("PATCH", `${path}/update_source`, { body: files })).body.capabilities;
		const first = { "index.ts": "export const jobs = { first(): void {} }" };
		expect(await write(first)).toEqual({ jobs: ["first"] });
		expect(await write({ "index.js": "exports.onEvent = () => {}" })).toEqual({ jobs: ["first"] });
		expect(await write({ "index.ts": null })).toEqual({ methods: ["onEvent"] });
		expect(await write({ "index.js": null })).toEqual({});
	});
});

describe("a plugin’s storage", () => {
	const go = (body: string) => `exports.jobs = { async go(_, { storage, config }) { ${body} } }`;
	/** Runs one job of this source. Returns how it ended and what is stored. */
	async function runAndRead(source: string) {
		const here = await home(source);
		await here.start({ type: "go" });
		await here.ended();
		const { error } = await here.read();
		const rows = await db
			.select()
			.from(pluginStorage)
			.where(eq(pluginStorage.plugin_config_id, here.id));
		return { ...here, error, rows };
	}
	const OLDER = btoa("o".repeat(32));
	const FULL = "Error: The storage is full: it can hold 1,000 keys and 1 MiB.";

	test("is sealed", async () => {
		const { rows, error } = await runAndRead(
			go(`await storage.set("token", config.token);
				if ((await storage.get("token")) !== config.token) throw new Error("It is lost.")`),
		);
		expect(error).toBeNull();
		expect(rows).toHaveLength(1);
		const [row] = rows;
		expect(row?.key).not.toContain("token");
		const place = { table: "plugin_storage", row: row?.plugin_config_id ?? 0 };
		expect(await unseal(env, row?.value ?? "", { ...place, field: "token" })).toBe('"hunter22"');
		// The value is bound to its config and to its key.
		for (const other of [
			{ ...place, row: 0, field: "token" },
			{ ...place, field: "other" },
		])
			await expect(unseal(env, row?.value ?? "", other)).rejects.toThrow();
	});

	test("finds, replaces and deletes a key that was stored with an older key of SECRETS_KEY", async () => {
		const { id } = await home();
		const before = { ...env, SECRETS_KEY: OLDER };
		const [key = ""] = await digests(before, "plugin_storage", `${id}:k`);
		const rotated = { ...env, SECRETS_KEY: `${env.SECRETS_KEY},${OLDER}` };
		const stored = storage(rotated, db, id);
		const insert = () => storage(before, db, id).set("k", '"old"');
		const rows = () =>
			db.select().from(pluginStorage).where(eq(pluginStorage.plugin_config_id, id));
		await insert();
		expect(await stored.get("k")).toBe('"old"');
		expect(await stored.set("k", '"new"')).toBe(true);
		expect(await stored.get("k")).toBe('"new"');
		expect((await rows()).map((row) => row.key)).toEqual([expect.stringMatching(/^hmac:/)]);
		expect((await rows())[0]?.key).not.toBe(key);
		await stored.del("k");
		await insert();
		await stored.del("k");
		expect(await rows()).toEqual([]);
		expect(await stored.get("k")).toBeNull();
		// With two rows for one key, that with the newest digest is used.
		await stored.set("k", "1");
		await insert();
		expect(await stored.get("k")).toBe("1");
		expect(await stored.set("k", "2")).toBe(true);
		expect(await stored.get("k")).toBe("2");
	});

	test("doesn't confuse a key that looks like a digest with that digest's row", async () => {
		const { id } = await home();
		const stored = storage(env, db, id);
		await stored.set("k", "1");
		const [row] = await db
			.select()
			.from(pluginStorage)
			.where(eq(pluginStorage.plugin_config_id, id));
		expect(await stored.get(row?.key ?? "")).toBeNull();
	});

	test("has different digests for the same key in two configs", async () => {
		const [first, second] = [await home(), await home()];
		for (const { id } of [first, second]) await storage(env, db, id).set("k", "1");
		const rows = await db
			.select()
			.from(pluginStorage)
			.where(inArray(pluginStorage.plugin_config_id, [first.id, second.id]));
		expect(new Set(rows.map(({ key }) => key)).size).toBe(2);
	});

	test("holds at most 1 MiB, whose values can still be replaced", async () => {
		const { rows, error } = await runAndRead(
			go(`const value = "é".repeat(30000);
				for (let i = 10; i < 27; i++) await storage.set("k" + i, value);
				await storage.set("k10", "");
				await storage.set("k27", value);
				await storage.del("k27");
				await storage.set("k28", value);
				await storage.set("k28", value + "x");
				await storage.set("k29", value);`),
		);
		expect(error).toBe(FULL);
		expect(rows).toHaveLength(18);
		const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
		expect(bytes).toBe(17 * (60_002 + 3) + 1 + (2 + 3));
	});

	test("holds at most 1,000 keys, whose values can still be replaced", async () => {
		const { id, start, ended, read } = await home(
			go(`await storage.set("k0", 2); await storage.set("one more", 1)`),
		);
		await storage(env, db, id).set("k0", "1");
		await db.run(sql`insert into plugin_storage (plugin_config_id, key, value, bytes)
			with recursive i (i) as (select 1 union all select i + 1 from i where i < 999)
			select ${id}, 'k' || i, '1', 4 from i`);
		await start({ type: "go" });
		await ended();
		expect((await read()).error).toBe(FULL);
		const rows = await db
			.select()
			.from(pluginStorage)
			.where(eq(pluginStorage.plugin_config_id, id));
		expect(rows).toHaveLength(1000);
		const first = rows.find(({ value }) => value !== "1");
		const place = { table: "plugin_storage", row: id, field: "k0" };
		expect(await unseal(env, first?.value ?? "", place)).toBe("2");
	});
});

/**
 * Delivers a message to the queue's consumer directly. Other messages may still be on their way.
 */
async function deliver(bindings: Partial<Env> = {}, timestamp = new Date()) {
	const batch = createMessageBatch("tenantry-jobs", [
		{ id: "1", timestamp, attempts: 1, body: {} },
	]);
	const context = createExecutionContext();
	await worker.queue(batch, { ...env, ...bindings }, context);
	return getQueueResult(batch, context);
}

describe("a job runs in the isolate of the jobs before it", () => {
	const source = `let seen = false;
	exports.jobs = {
		go() { console.log("seen: " + seen); seen = true },
		fail() { seen = true; throw new Error("No.") },
		async abort() { (await import("cloudflare:workers")).abortIsolate("gone") },
	}`;

	/**
	 * A config, and a function that runs the job `go` and returns whether a job ran in its isolate
	 * before.
	 */
	async function config() {
		const here = await home(source);
		const run = async (type: string) => {
			await here.start({ type });
			await here.ended();
		};
		const seen = async () => {
			await run("go");
			return (await here.logs()).findLast((line: string) => line.includes("seen: "))?.slice(18);
		};
		return { ...here, run, seen };
	}

	test("a job shares the isolate of jobs of the same config if neither it nor its source has changed", async () => {
		const [here, other] = [await config(), await config()];
		expect([await here.seen(), await here.seen()]).toEqual(["false", "true"]);
		expect(await other.seen()).toBe("false");
		await here.ask("PATCH", here.path, { body: { config: { token: "another secret" } } });
		expect([await here.seen(), await here.seen()]).toEqual(["false", "true"]);
		await here.here("PATCH", `/pipeline_destinations/${(await here.read()).plugin}/update_source`, {
			body: { "index.js": `${source} // changed` },
		});
		expect([await here.seen(), await here.seen()]).toEqual(["false", "true"]);
	});

	test("a job doesn't share the isolate of another config of the same plugin", async () => {
		const here = await config();
		expect([await here.seen(), await here.seen()]).toEqual(["false", "true"]);
		const { plugin } = await here.read();
		const body = { plugin, order: 2, config: { token: "hunter22" } };
		const configs = `/api/projects/${here.project}/plugin_configs`;
		const { id } = (await here.ask("POST", `${configs}/`, { body })).body;
		await here.ask("POST", `${configs}/${id}/job/`, { body: { job: { type: "go" } } });
		await eventually(async () => {
			const { results } = (await here.ask("GET", `${configs}/${id}/logs`)).body;
			expect(results.map(({ message }: { message: string }) => message)).toContain("seen: false");
		});
	});

	test("a job doesn't share the isolate of a job that is still running", async () => {
		const here = await config();
		expect([await here.seen(), await here.seen()]).toEqual(["false", "true"]);
		await queue(here, { lease_expires_at: new Date(Date.now() + 30_000).toISOString() });
		await here.start({ type: "go" });
		await eventually(async () => expect(await jobsOf(here.id)).toHaveLength(1));
		const seen = (await here.logs()).findLast((line: string) => line.includes("seen: "));
		expect(seen).toContain("seen: false");
		await db.delete(pluginJobs).where(eq(pluginJobs.plugin_config_id, here.id));
		expect(await here.seen()).toBe("true");
	});

	test.each(["fail", "abort"])(
		"a job doesn't share the isolate of a job that failed (%s)",
		async (type) => {
			const { run, seen } = await config();
			expect([await seen(), await seen()]).toEqual(["false", "true"]);
			await run(type);
			expect([await seen(), await seen()]).toEqual(["false", "true"]);
		},
	);

	test("a job doesn't share the isolate of a job that was interrupted", async () => {
		const here = await config();
		expect([await here.seen(), await here.seen()]).toEqual(["false", "true"]);
		await queue(here, { lease_expires_at: new Date(Date.now() - 60_000).toISOString() });
		await tick();
		expect(await here.seen()).toBe("false");
	});
});

describe("a waiting job", () => {
	/** Changes something, then runs a job or task as if it had been queued before. */
	async function waiting(
		kind: "job" | "task",
		change: (here: Awaited<ReturnType<typeof home>>) => PromiseLike<unknown>,
	) {
		const here = await home();
		await change(here);
		await queue(here, { kind, name: kind === "job" ? "greet" : "runEveryHour" });
		await deliver();
		await eventually(async () => expect(await jobsOf(here.id)).toEqual([]));
		const [newest] = await db
			.select()
			.from(pluginLogs)
			.where(eq(pluginLogs.plugin_config_id, here.id))
			.orderBy(desc(pluginLogs.position));
		const [[, type, message, source]] = JSON.parse(newest?.entries ?? "");
		const [config] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, here.id));
		return {
			results: Object.entries(config?.results ?? {}).map(([hour, n]) => `${hour.slice(14)} ${n}`),
			log: [`${source} ${type} ${message}`],
		};
	}
	const disable = ({ ask, path }: Awaited<ReturnType<typeof home>>) =>
		ask("PATCH", path, { body: { enabled: false } });

	test("fails if its config is deleted", async () => {
		const remove = ({ ask, path }: Awaited<ReturnType<typeof home>>) =>
			ask("PATCH", path, { body: { deleted: true } });
		expect(await waiting("job", remove)).toEqual({
			results: ["failed 1"],
			log: ["SYSTEM ERROR The job greet was not run: its config is deleted."],
		});
	});

	test("fails if its organization loses access to plugins", async () => {
		const lose = (here: Awaited<ReturnType<typeof home>>) =>
			db
				.update(organizations)
				.set({ plugins_access_level: 0 })
				.where(eq(organizations.uuid, here.organization));
		expect(await waiting("job", lose)).toEqual({
			results: ["failed 1"],
			log: [
				"SYSTEM ERROR The job greet was not run: the organization's plugin access level is insufficient.",
			],
		});
	});

	test("fails if its config is disabled and it is a scheduled task; a requested job still runs", async () => {
		expect(await waiting("task", disable)).toEqual({
			results: ["failed 1"],
			log: ["SYSTEM ERROR The task runEveryHour was not run: its config is disabled."],
		});
		expect(await waiting("job", disable)).toEqual({
			results: ["done 1"],
			log: ["SYSTEM INFO The job greet is done."],
		});
	});
});

test("the jobs of a permanently deleted config don't run, and leave nothing", async () => {
	const here = await home();
	await queue(here, {}, 2);
	await queue(here, { lease_expires_at: "2026-01-01T00:00:00.000Z" });
	expect((await here.ask("DELETE", here.path)).status).toBe(204);
	for (let i = 0; i < 2; i += 1) await deliver({ JOBS: lossy.DELIVERIES });
	expect(await jobsOf(here.id)).toHaveLength(1);
	await tick();
	expect(await jobsOf(here.id)).toEqual([]);
	expect(await systemEvents(here.organization)).toEqual([]);
});

test("a job whose config is deleted permanently while it runs leaves nothing", async () => {
	const here = await home("exports.jobs = { fail() { throw new Error('No.') } }");
	let trips = 0;
	const DB = Object.assign(Object.create(env.DB), {
		batch: async (statements: D1PreparedStatement[]) => {
			trips += 1;
			if (trips === 2) await here.ask("DELETE", here.path);
			return env.DB.batch(statements);
		},
	});
	await queue(here, { name: "fail" });
	await deliver({ DB });
	expect([trips, await jobsOf(here.id)]).toEqual([2, []]);
	expect(await systemEvents(here.organization)).toEqual([]);
});

test("a deleted config runs no jobs until it is restored", async () => {
	const { ask, path, start } = await home();
	await ask("PATCH", path, { body: { deleted: true } });
	expect(await start({ type: "greet" })).toMatchObject(
		wrong("invalid_input", "This plugin configuration is deleted.", null),
	);
	await ask("PATCH", path, { body: { deleted: false } });
	expect((await start({ type: "greet" })).status).toBe(200);
});

test.each(["built", "stated"])(
	"a job runs if the main file of its installed plugin (%s) is in dist/",
	async (name) => {
		const { here, ask, project } = await world();
		const url = `https://www.npmjs.com/package/${name}`;
		const { body } = await here("POST", "/pipeline_frontend_apps", {
			body: { url },
		});
		expect(body.capabilities).toEqual({ jobs: ["go"] });
		const configs = `/api/projects/${project}/plugin_configs`;
		const config = await ask("POST", configs, {
			body: { plugin: body.id, order: 1 },
		});
		const path = `${configs}/${config.body.id}`;
		await ask("POST", `${path}/job`, { body: { job: { type: "go" } } });
		await eventually(async () => {
			const { results } = (await ask("GET", `${path}/logs`)).body;
			expect(results.toReversed()).toMatchObject([
				{ source: "SYSTEM" },
				{ source: "CONSOLE", message: "built" },
				{ source: "SYSTEM", message: "The job go is done." },
			]);
		});
	},
);

test("if the runtime has no sandbox, the job fails and its log says why", async () => {
	const here = await home();
	const { logs, ended } = here;
	const { LOADER: _, ...bindings } = env;
	// Another message that is still on its way may take the job first.
	do {
		await queue(here);
		const batch = createMessageBatch("tenantry-jobs", [
			{ id: "1", timestamp: new Date(), attempts: 1, body: {} },
		]);
		await worker.queue(
			batch,
			Object.assign(Object.create(null), bindings),
			createExecutionContext(),
		);
	} while (!/sandbox/i.test((await logs()).join()));
	expect(await ended()).toBe("failed");
	expect((await logs()).at(-1)).toMatch(/^SYSTEM ERROR .*sandbox/i);
});

test("a plugin can only connect to the host names that its config allows", async () => {
	expect(allowedHosts({})).toEqual([]);
	expect(allowedHosts({ allowed_hosts: "api.example.com, Example.ORG" })).toEqual([
		"api.example.com",
		"example.org",
	]);
	const ignored = ["localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433", "a b", 7];
	expect(allowedHosts({ allowed_hosts: ignored })).toEqual([]);
	const source = `exports.jobs = { async go() { await fetch("https://other.example.com/") } }`;
	const { path, ask, start, read, ended } = await home(source);
	const config = { allowed_hosts: ["api.example.com"] };
	await ask("PATCH", path, { body: { config } });
	await start({ type: "go" });
	expect(await ended()).toBe("failed");
	expect((await read()).error).toContain("may not reach other.example.com");
});

describe("an allowed host", () => {
	/**
	 * The status or error that a sandbox gets from this host if private destinations are not allowed.
	 */
	const fetchFrom = (host: string) => {
		const context = createExecutionContext();
		const strict = { ...env, ALLOW_PRIVATE_DESTINATIONS: "false" };
		return new Outbound(Object.assign(context, { props: { hosts: [host] } }), strict)
			.fetch(new Request(`https://${host}/`))
			.then(
				({ status }) => status,
				({ message }) => message,
			);
	};

	test.each(["db.localhost", "metadata.google.internal"])(
		"is rejected if its name is private: %s",
		async (host) => {
			expect(await fetchFrom(host)).toBe(
				`This plugin may not reach ${host}: ${host} is a name of a private network.`,
			);
		},
	);

	test("is rejected if it resolves to a private address", async () => {
		expect(await fetchFrom("inside.example.test")).toBe(
			"This plugin may not reach inside.example.test: inside.example.test resolves to the private address 10.0.0.5.",
		);
		expect(await fetchFrom("public.example.test")).toBe(599);
	});
});

describe("the queue", () => {
	const stored = async (id: number) =>
		(await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id)))[0];
	test("runs each job once even if it delivers more messages than there are jobs", async () => {
		const here = await home();
		const { ended, logs } = here;
		await queue(here);
		await Promise.all([deliver(), deliver(), deliver()]);
		await ended();
		expect((await logs()).filter((line: string) => line.includes("Hello Ada"))).toHaveLength(1);
	});

	test("sends another message while jobs wait, so one message is enough for all of them", async () => {
		const homes = [await home(), await home()];
		for (const here of homes) await queue(here, {}, 5);
		await deliver();
		for (const { ended, logs } of homes) {
			expect(await ended()).toBe("done");
			expect((await logs()).filter((line: string) => line.includes("is done"))).toHaveLength(5);
		}
	});

	/** A D1 whose batches fail. */
	const down: Partial<Env> = {
		DB: Object.assign(Object.create(env.DB), {
			batch: async () => {
				throw new Error("D1 is down");
			},
		}),
	};

	test("logs a message that fails, which a tick replaces, and ignores messages older than two minutes", async () => {
		const error = vi.spyOn(console, "error").mockImplementation(() => {});
		const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
		const { retryMessages } = await deliver(down, ago(110));
		expect([retryMessages, error.mock.calls.length]).toEqual([[], 1]);
		await deliver(down, ago(121));
		expect(error.mock.calls).toHaveLength(1);
		error.mockRestore();
	});

	test("stores a thousand entries of maximum length within D1’s limit for a value", async () => {
		const here = await home(
			"exports.jobs = { talk() { for (let i = 0; i < 1000; i++) console.log('\\u0001'.repeat(4000)) } }",
		);
		const { ended, ask, path } = here;
		const entries = async () => (await ask("GET", `${path}/logs?limit=1`)).body;
		const { count } = await entries();
		const { env: weighed, heaviest } = weighing();
		// Another message that is still on its way may take the job first.
		while (heaviest() < 400_000) {
			await queue(here, { name: "talk" });
			await deliver(weighed);
		}
		expect(await ended()).toBe("done");
		const body = await entries();
		// The config may have a few entries of the system.
		expect((body.count - count) % 1000).toBeLessThan(5);
		const newest = (await ask("GET", `${path}/logs?limit=1&type_filter=LOG`)).body.results[0];
		expect(newest.message).toHaveLength(4000);
		expect(heaviest()).toBeLessThan(2_000_000);
	});

	test.each([
		[
			"of an unknown key",
			async () => ({
				token: `sealed:AAAAAAAA:AAAAAAAAAAAAAAAA:${"A".repeat(22)}`,
			}),
			"No key of SECRETS_KEY",
		],
		[
			"copied from another config",
			async () => (await stored((await home()).id))?.config ?? {},
			"OperationError",
		],
	])(
		"fails a job whose secrets can't be decrypted (%s), and tells only the operator why",
		async (_, otherConfig, reason) => {
			const error = vi.spyOn(console, "error").mockImplementation(() => {});
			const here = await home();
			const { id, ended, logs } = here;
			await db
				.update(pluginConfigs)
				.set({ config: await otherConfig() })
				.where(eq(pluginConfigs.id, id));
			await queue(here);
			await deliver();
			expect(await ended()).toBe("failed");
			expect((await logs()).at(-1)).toBe(
				"SYSTEM ERROR The job greet was not run: the secrets of its config can't be decrypted.",
			);
			expect(String(error.mock.calls)).toContain(reason);
			error.mockRestore();
		},
	);

	test.each([
		["is done", "storage.get('k')"],
		["fails", "storage.get('k').then(() => { throw new Error('Too late.') })"],
	])(
		"doesn’t overwrite the result of a job that was failed while it ran, and then %s",
		async (_, slow) => {
			/** Runs a job, and lets the schedule fail it meanwhile. */
			const cutOff = async () => {
				const here = await home(`exports.jobs = { slow: (_, { storage }) => ${slow} }`);
				const its = eq(pluginJobs.plugin_config_id, here.id);
				let trips = 0;
				const DB = Object.assign(Object.create(env.DB), {
					batch: async (statements: D1PreparedStatement[]) => {
						trips += 1;
						if (trips === 2) {
							const long_ago = "2026-01-01T00:00:00.000Z";
							await db.update(pluginJobs).set({ lease_expires_at: long_ago }).where(its);
							await tick();
						}
						return env.DB.batch(statements);
					},
				});
				await queue(here, { name: "slow" });
				await deliver({ DB });
				return { ...here, isCutOff: trips > 1 };
			};
			let here = await cutOff();
			// Another message that is still on its way may take the job first.
			while (!here.isCutOff) here = await cutOff();
			const { organization, ended, logs, read } = here;
			expect(await ended()).toBe("failed");
			const message = "The job was interrupted by a restart. It isn't run again.";
			expect((await read()).error).toBe(message);
			expect((await logs()).at(-1)).toBe(`SYSTEM ERROR ${message}`);
			expect(await systemEvents(organization)).toMatchObject([
				{ type: "plugin_job.failed", name: "slow", trigger: { error: message } },
			]);
		},
	);
});

describe("organizations take turns:", () => {
	const MINUTE = "2099-01-01T00:00:00.000Z";
	/** A home whose plugin has `count` tasks that run every minute, and `others`. */
	async function busy(count: number, others: string[] = []) {
		const here = await home();
		const { plugin } = await here.read();
		await db
			.update(plugins)
			.set({
				capabilities: {
					scheduled_tasks: [
						...Array.from({ length: count }, (_, i) => `runEveryMinute${i}`),
						...others,
					],
				},
			})
			.where(eq(plugins.id, plugin));
		const copy = (order: number) =>
			db
				.insert(pluginConfigs)
				.values({
					project_id: here.project,
					organization_id: organizationId(here.organization),
					plugin_id: plugin,
					order,
					enabled: true,
					enabled_at: new Date().toISOString(),
				})
				.returning();
		return { ...here, copy };
	}

	/** Runs the next jobs, and sends no messages for others. */
	const run = async (count: number) => {
		for (let i = 0; i < count; i += 1) await deliver({ JOBS: lossy.DELIVERIES });
	};

	test("an organization's task runs right after the first of another's 3,000", async () => {
		const many = await busy(1000);
		await Promise.all([many.copy(2), many.copy(3)]);
		const few = await home();
		await tick(Date.parse(MINUTE), { JOBS: lossy.DELIVERIES });
		expect(await jobsOf(many.id)).toHaveLength(1000);
		expect(await jobsOf(few.id)).toHaveLength(3);
		// Each of the three tasks waits for at most one of the other's.
		for (const left of [2, 1, 0]) {
			await run(2);
			expect((await jobsOf(few.id)).length).toBeLessThanOrEqual(left);
		}
	});

	test("at most 1,000 tasks of an organization are queued per minute; the log of each config says once how many were dropped", async () => {
		const many = await busy(1200);
		const [copy] = await many.copy(2);
		await tick(Date.parse(MINUTE), { JOBS: lossy.DELIVERIES });
		expect(await jobsOf(many.id)).toHaveLength(1000);
		await db
			.delete(pluginJobs)
			.where(eq(pluginJobs.organization_id, organizationId(many.organization)));
		await tick(Date.parse(MINUTE) + 20_000);
		expect(await jobsOf(copy?.id ?? 0)).toEqual([]);
		const { results } = (
			await many.ask("GET", `/api/projects/${many.project}/plugin_configs/${copy?.id}/logs`)
		).body;
		expect(results).toMatchObject([
			{
				source: "SYSTEM",
				type: "WARN",
				timestamp: MINUTE,
				message: "1,200 tasks were dropped: an organization can start 1,000 tasks a minute.",
			},
		]);
		expect((await many.logs()).filter((line: string) => line.includes("dropped"))).toEqual([
			"SYSTEM WARN 200 tasks were dropped: an organization can start 1,000 tasks a minute.",
		]);
	});

	test("waiting tasks count towards the limit, and daily and hourly tasks come first", async () => {
		const here = await busy(998, ["runEveryHour", "runEveryDay"]);
		await queue(here, { kind: "task", name: "before" }, 997);
		await tick(Date.parse(MINUTE), { JOBS: lossy.DELIVERIES });
		const rows = (await jobsOf(here.id)).toSorted((a, b) => a.turn - b.turn);
		expect(rows).toHaveLength(1000);
		expect(rows.slice(997).map(({ name }) => name)).toEqual([
			"runEveryDay",
			"runEveryHour",
			"runEveryMinute0",
		]);
	});

	test("a dropped daily or hourly task is tried again at the next tick, and runs once", async () => {
		const here = await busy(1, ["runEveryHourA", "runEveryHourB", "runEveryDay"]);
		const tickAt = async (minutes: number, waiting: number) => {
			await db.delete(pluginJobs);
			await queue(here, { kind: "task", name: "before" }, waiting);
			await tick(Date.parse(MINUTE) + minutes * 60_000, { JOBS: lossy.DELIVERIES });
			return (await jobsOf(here.id)).map(({ name }) => name).filter((name) => name !== "before");
		};
		expect(await tickAt(0, 998)).toEqual(["runEveryDay", "runEveryHourA"]);
		expect(await tickAt(1, 1000)).toEqual([]);
		expect(await tickAt(1.5, 0)).toEqual([]);
		expect(await tickAt(2, 0)).toEqual(["runEveryHourB", "runEveryMinute0"]);
		expect(await tickAt(3, 0)).toEqual(["runEveryMinute0"]);
	});

	test("a job runs right after the first of another's 5,000", async () => {
		const [many, few] = [await home(), await home()];
		const start = ({ ask, path }: typeof few) =>
			ask("POST", `${path}/job/`, {
				body: { job: { type: "greet", payload: { name: "Ada" } } },
				env: { JOBS: lossy.DELIVERIES },
			});
		for (let i = 0; i < 20; i += 1) await start(many);
		await queue(many, {}, 5000);
		await run(3);
		await start(few);
		await run(2);
		expect(await few.ended()).toBe("done");
		expect((await jobsOf(many.id)).length).toBeGreaterThan(5010);
	});

	test("queuing and taking a job costs the same however many jobs of another organization wait", async () => {
		const [many, few] = [await home(), await home()];
		const costs = async () => {
			const queued = cost(await few.start({ type: "greet" })).read;
			let read = 0;
			const DB = Object.assign(Object.create(env.DB), {
				batch: async <T>(statements: D1PreparedStatement[]) => {
					const results = await env.DB.batch<T>(statements);
					for (const { meta } of results) read += meta.rows_read;
					return results;
				},
			});
			await deliver({ DB });
			return { queued, taken: read };
		};
		await queue(many, {}, 500);
		const before = await costs();
		await queue(many, {}, 5000);
		const after = await costs();
		expect(after.queued).toBeLessThan(before.queued + 20);
		expect(after.taken).toBeLessThan(before.taken + 20);
	});
});

describe("the schedule", () => {
	const at = (hours: number, minutes: number, day = 1) => Date.UTC(2099, 5, day, hours, minutes);
	/** Runs a tick, and returns the tasks of a config that it queued. */
	const queued = async (time: number, id: number) => {
		await db.delete(pluginJobs);
		await tick(time, { JOBS: lossy.DELIVERIES });
		return (await jobsOf(id)).map(({ name }) => name);
	};
	const ALL = ["runEveryDay", "runEveryHour", "runEveryMinute"];

	test("runs the tasks of enabled configs once per minute, hour and day, however often it ticks", async () => {
		const [on, off] = [await home(), await home(SOURCE, false)];
		await Promise.all(
			[0, 20_000, 40_000].map((ms) => tick(at(0, 0) + ms, { JOBS: lossy.DELIVERIES })),
		);
		expect((await jobsOf(on.id)).map(({ name }) => name)).toEqual(ALL);
		expect(await queued(at(0, 0) + 50_000, on.id)).toEqual([]);
		expect(await queued(at(0, 1), on.id)).toEqual(["runEveryMinute"]);
		// A tick that is late.
		expect(await queued(at(0, 0), on.id)).toEqual([]);
		await db.delete(taskMinutes);
		await tick(at(0, 0));
		expect(await jobsOf(off.id)).toEqual([]);
		await eventually(async () => {
			const log = (await on.logs()).join();
			for (const word of ["A day", "An hour", "A minute"]) expect(log).toContain(word);
		});
	});

	test("after missed ticks, runs the tasks of the current minute, hour and day only", async () => {
		const { id } = await home();
		expect(await queued(at(7, 58), id)).toEqual(ALL);
		expect(await queued(at(10, 7, 2), id)).toEqual(ALL);
		expect(await queued(at(10, 8, 2), id)).toEqual(["runEveryMinute"]);
		expect(await queued(at(11, 8, 2), id)).toEqual(["runEveryHour", "runEveryMinute"]);
	});

	test("runs tasks also after the clock was set back", async () => {
		const { id } = await home();
		await queued(at(10, 7, 2), id);
		expect(await queued(at(10, 7, 1), id)).toEqual(ALL);
	});

	test("runs no tasks of a minute, hour or day that began before the config was enabled", async () => {
		const { id, ask, path } = await home();
		const { enabled_at } = pluginConfigs;
		const between = new Date(at(10, 5)).toISOString();
		await db.update(pluginConfigs).set({ enabled_at: between }).where(eq(pluginConfigs.id, id));
		expect(await queued(at(10, 7), id)).toEqual(["runEveryMinute"]);
		await ask("PATCH", path, { body: { enabled: false } });
		expect(await queued(at(12, 0), id)).toEqual([]);
		await ask("PATCH", path, { body: { enabled: true } });
		const [row] = await db
			.select({ enabled_at })
			.from(pluginConfigs)
			.where(eq(pluginConfigs.id, id));
		await db.delete(taskMinutes);
		expect(await queued(Date.parse(row?.enabled_at ?? ""), id)).toEqual([]);
	});

	test("runs no tasks of an organization that has lost its access to plugins", async () => {
		const { id, organization } = await home();
		const grant = (plugins_access_level: number) =>
			db
				.update(organizations)
				.set({ plugins_access_level })
				.where(eq(organizations.uuid, organization));
		await grant(2);
		expect(await queued(at(10, 7), id)).toEqual([]);
		await grant(3);
		expect(await queued(at(10, 8), id)).toEqual(["runEveryMinute"]);
	});

	test("sends another message for a job whose message was lost", async () => {
		const here = await home();
		await queue(here);
		await tick();
		expect(await here.ended()).toBe("done");
	});

	test("fails a job that a restart interrupted, and never runs it again", async () => {
		const here = await home(SOURCE, false);
		const { logs, read, ended } = here;
		await queue(here, { lease_expires_at: "2026-01-01T00:00:00.000Z" });
		await tick();
		expect(await ended()).toBe("failed");
		expect((await logs()).at(-1)).toBe(
			"SYSTEM ERROR The job was interrupted by a restart. It isn't run again.",
		);
		expect((await read()).error).toBe("The job was interrupted by a restart. It isn't run again.");
	});

	test("finds interrupted jobs of an organization that had many, while jobs of others wait", async () => {
		const [many, few] = [await home(SOURCE, false), await home(SOURCE, false)];
		await queue(many, {}, 3);
		await queue(many, { lease_expires_at: "2026-01-01T00:00:00.000Z" });
		await db.delete(pluginJobs).where(isNull(pluginJobs.lease_expires_at));
		await queue(few, {}, 2);
		await tick(Date.now(), { JOBS: lossy.DELIVERIES });
		expect([await jobsOf(many.id), (await jobsOf(few.id)).length]).toEqual([[], 2]);
	});

	test("deletes only log entries that are older than seven days", async () => {
		const { id, path, ask } = await home();
		const days = (n: number) => new Date(Date.now() - n * 86_400_000).toISOString();
		await db.delete(pluginLogs).where(eq(pluginLogs.plugin_config_id, id));
		for (const n of [9, 8, 6]) {
			await logOfConfig(id, { message: `${n} days`, timestamp: days(n) });
		}
		await tick();
		const messages = (await ask("GET", `${path}/logs`)).body;
		expect(messages.results.map(({ message }: { message: string }) => message)).not.toContain(
			"8 days",
		);
		expect(messages.results.at(-1).message).toBe("6 days");
		expect(messages.count).toBe(messages.results.length);
	});
});
