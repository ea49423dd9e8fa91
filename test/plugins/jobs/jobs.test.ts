import { createExecutionContext, createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, isNull, sql } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { organizations } from "../../../src/db/schema/organizations.ts";
import {
	pluginJobs,
	pluginLogs,
	pluginSourceFiles,
	pluginStorage,
	plugins,
	taskMinutes,
} from "../../../src/db/schema/plugins.ts";
import { digests, unseal } from "../../../src/keys/secrets.ts";
import { Outbound } from "../../../src/plugins/jobs/outbound.ts";
import { storage } from "../../../src/plugins/jobs/storage.ts";
import worker from "../../../src/worker.ts";
import { wrong } from "../../support/errors.ts";
import { logOfConfig } from "../../support/logs.ts";
import { systemEvents } from "../../support/system_events.ts";
import { eventually } from "../../support/time.ts";
import { interrupted, keeping } from "../../support/webhooks.ts";
import { cost, db, world } from "../../support/world.ts";
import { clear, deliver, type Home, home as homeOf, jobsOf, queue, tick } from "./support.ts";

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

const LONG_AGO = "2026-01-01T00:00:00.000Z";

beforeEach(clear);

const home = (source = SOURCE, enabled = true) => homeOf(source, enabled);

/** The source of a plugin with a job `go`. */
const go = (body: string) => `exports.jobs = { async go(_, { storage, config }) { ${body} } }`;

const levelOf = (organization: string, plugins_access_level: number) =>
	db
		.update(organizations)
		.set({ plugins_access_level })
		.where(eq(organizations.uuid, organization));

test("a job is queued, runs in a sandbox, and its log says what it did", async () => {
	const { start, run, logs, read, path } = await home();
	const response = await start({ type: "greet", payload: { name: "Ada" }, operation: "start" }, {});
	expect([response.status, response.body, response.headers.get("content-length")]).toEqual([
		200,
		null,
		"0",
	]);
	expect(response.headers.get("link")).toBe(`<${path}/logs/>; rel="monitor"`);
	await eventually(async () =>
		expect(await logs()).toContain("SYSTEM INFO The job greet is done."),
	);
	await run("greet", { name: "Eve" });
	expect(await logs()).toEqual(
		expect.arrayContaining([
			"SYSTEM INFO The job greet was queued.",
			"CONSOLE LOG Hello Ada for the 1. time",
			"PLUGIN INFO The token is ***",
			"CONSOLE LOG Hello Eve for the 2. time",
		]),
	);
	expect(await read()).toMatchObject({ error: null, delivery_rate_24h: "1" });
	expect(JSON.stringify(await db.select().from(pluginLogs))).not.toContain("hunter22");
});

test("a sealed field that is no longer secret is decrypted for the plugin, but still hidden in the log", async () => {
	const { here, plugin, run, logs } = await home(
		go("console.log(config.token, config.token.length)"),
	);
	await here("PATCH", `/pipeline_destinations/${plugin}`, { body: { config_schema: [] } });
	await run("go");
	expect(await logs()).toContain("CONSOLE LOG *** 8");
});

test("a failed job sets the error and the rate, and isn’t run again", async () => {
	const { run, read, logs, organization, project, plugin, id } = await home();
	await run("greet");
	expect(await run("fail")).toContain("It broke with ***");
	await deliver();
	expect(await read()).toMatchObject({ delivery_rate_24h: "0.5" });
	expect((await logs()).filter((line) => line.includes("It broke"))).toHaveLength(1);
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
				plugin_id: plugin,
				plugin_config_id: id,
				error: expect.stringContaining("It broke with ***"),
				next_step: "Fix the error, then start the job again.",
			},
		},
	]);
});

test("the rate has the results of the last 24 hours, and older ones are deleted", async () => {
	const { set, row, read, run } = await home();
	const ago = (hours: number) =>
		new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 13);
	await set({ results: { [`${ago(24)} failed`]: 7, [`${ago(23)} failed`]: 3 } });
	expect(await read()).toMatchObject({ delivery_rate_24h: "0" });
	await run("greet");
	expect(await read()).toMatchObject({ delivery_rate_24h: "0.25" });
	expect(Object.values((await row())?.results ?? {})).toEqual([3, 1]);
	await set({ results: { [`${ago(24)} failed`]: 7 } });
	expect(await read()).toMatchObject({ delivery_rate_24h: null });
});

test("a job that the plugin doesn’t have, or with invalid fields, is rejected", async () => {
	const { start, ask, path } = await home();
	const missing = wrong("invalid_input", "The job type must be specified!", null);
	const dictionary = "Expected a dictionary of items.";
	for (const [job, expected] of [
		[null, missing],
		[{}, missing],
		[{ type: "" }, missing],
		[{ type: null, payload: {} }, missing],
		[{ type: "other" }, wrong("invalid_input", 'The plugin has no job "other".', null)],
		[
			{ type: "greet", operation: "stop" },
			wrong("invalid_choice", '"stop" is not a valid choice.', "job__operation"),
		],
		[{ type: "greet", payload: [] }, wrong("invalid_input", dictionary, "job__payload")],
		["greet", wrong("invalid_input", dictionary, "job")],
	] as const)
		expect(await start(job)).toMatchObject(expected);
	for (const body of [undefined, {}, { plugin: 1, enabled: true, order: 1, deleted: false }])
		expect(await ask("POST", `${path}/job`, { body })).toMatchObject(missing);
	expect(
		await ask("POST", `${path}/job`, {
			raw: '{"job": {"type": "greet", "payload": {"__proto__": {}}}}',
			headers: { "content-type": "application/json" },
		}),
	).toMatchObject({ status: 400, body: { attr: "job__payload____proto__" } });
});

test("a job is named in its activity entry, without its payload", async () => {
	const { run, here, id } = await home();
	await run("greet", { token: "hunter33" });
	const { results } = (await here("GET", "/activity_log?activity=job_triggered")).body;
	expect(results).toMatchObject([
		{
			scope: "PluginConfig",
			item_id: String(id),
			detail: { trigger: { job: { type: "greet", operation: "start" } } },
		},
	]);
	expect(JSON.stringify(results)).not.toContain("hunter33");
});

test("a public job can be started, and fails if the code doesn’t have it", async () => {
	const { start, plugin, read } = await home();
	await db
		.update(plugins)
		.set({ public_jobs: { shown: {} } })
		.where(eq(plugins.id, plugin));
	expect((await start({ type: "shown" })).status).toBe(200);
	await deliver();
	expect((await read()).error).toBe("The plugin has no job 'shown'.");
});

describe("a plugin’s main file is compiled when it is saved", () => {
	const saying = (text: string) => `export const jobs = { go() { console.log('${text}') } };`;
	const fileOf = async ({ plugin }: Home) =>
		(await db.select().from(pluginSourceFiles).where(eq(pluginSourceFiles.plugin_id, plugin)))[0];
	const store = ({ plugin }: Home, row: Partial<typeof pluginSourceFiles.$inferInsert>) =>
		db.update(pluginSourceFiles).set(row).where(eq(pluginSourceFiles.plugin_id, plugin));

	test("jobs run what was compiled when the file was last saved", async () => {
		const here = await home(saying("first"));
		await here.write(saying("second"));
		const compiled = expect.stringContaining("exports.jobs = jobs");
		expect(await fileOf(here)).toMatchObject({ compiled, error: null });
		await store(here, { source: saying("not compiled") });
		expect(await here.run("go")).toBeNull();
		expect(await here.logs()).toContain("CONSOLE LOG second");
	});

	test.each([
		["was saved before compiled output was kept", saying("compiled now")],
		[
			"is too large to be kept with its output",
			`// ${"x".repeat(1_040_000)}\n${saying("compiled now")}`,
		],
	])("a job compiles a file that %s", async (what, source) => {
		const here = await home(source);
		if (what.startsWith("was")) await store(here, { compiled: null });
		expect(await fileOf(here)).toMatchObject({ compiled: null, error: null });
		expect(await here.run("go")).toBeNull();
		expect(await here.logs()).toContain("CONSOLE LOG compiled now");
	});

	test("the reason why a file doesn’t compile is kept, and its jobs fail with it", async () => {
		const here = await home(saying("ran"));
		expect((await here.write("export const = 5")).status).toBe(200);
		const error = "Unexpected token (1:14)";
		expect(await fileOf(here)).toMatchObject({ compiled: null, error });
		expect(await here.run("go")).toBe(`The plugin can't be parsed: ${error}`);
	});

	test("where both main files exist, the capabilities are those of index.ts", async () => {
		const { here, plugin } = await home(go(""));
		const path = `/pipeline_destinations/${plugin}/update_source`;
		const write = async (body: object) => (await here("PATCH", path, { body })).body.capabilities;
		const first = { "index.ts": "export const jobs = { first(): void {} }" };
		expect(await write(first)).toEqual({ jobs: ["first"] });
		expect(await write({ "index.js": "exports.onEvent = () => {}" })).toEqual({ jobs: ["first"] });
		expect(await write({ "index.ts": null })).toEqual({ methods: ["onEvent"] });
		expect(await write({ "index.js": null })).toEqual({});
	});
});

describe("a plugin’s storage", () => {
	const rowsOf = ({ id }: { id: number }) =>
		db.select().from(pluginStorage).where(eq(pluginStorage.plugin_config_id, id));
	const FULL = "Error: The storage is full: it can hold 1,000 keys and 1 MiB.";

	test("is sealed", async () => {
		const here = await home(
			go(`await storage.set("token", config.token);
				if ((await storage.get("token")) !== config.token) throw new Error("It is lost.")`),
		);
		expect(await here.run("go")).toBeNull();
		const [row, ...others] = await rowsOf(here);
		expect(others).toEqual([]);
		expect(row?.key).not.toContain("token");
		const place = { table: "plugin_storage", row: here.id };
		expect(await unseal(env, row?.value ?? "", { ...place, field: "token" })).toBe('"hunter22"');
		// The value is bound to its config and to its key.
		for (const other of [
			{ ...place, row: 0, field: "token" },
			{ ...place, field: "other" },
		])
			await expect(unseal(env, row?.value ?? "", other)).rejects.toThrow();
	});

	test("finds, replaces and deletes a key that was stored with an older key of SECRETS_KEY", async () => {
		const here = await home();
		const older = btoa("o".repeat(32));
		const before = { ...env, SECRETS_KEY: older };
		const [key = ""] = await digests(before, "plugin_storage", `${here.id}:k`);
		const rotated = { ...env, SECRETS_KEY: `${env.SECRETS_KEY},${older}` };
		const stored = storage(rotated, db, here.id);
		const insert = () => storage(before, db, here.id).set("k", '"old"');
		await insert();
		expect(await stored.get("k")).toBe('"old"');
		expect(await stored.set("k", '"new"')).toBe(true);
		expect(await stored.get("k")).toBe('"new"');
		const keys = (await rowsOf(here)).map((row) => row.key);
		expect(keys).toEqual([expect.stringMatching(/^hmac:/)]);
		expect(keys).not.toContain(key);
		await stored.del("k");
		await insert();
		await stored.del("k");
		expect(await rowsOf(here)).toEqual([]);
		expect(await stored.get("k")).toBeNull();
		// With two rows for one key, that with the newest digest is used.
		await stored.set("k", "1");
		await insert();
		expect(await stored.get("k")).toBe("1");
		expect(await stored.set("k", "2")).toBe(true);
		expect(await stored.get("k")).toBe("2");
	});

	test("has a digest of the config and the key, which isn’t a key itself", async () => {
		const here = await home();
		const other = { id: await here.copy(2) };
		for (const { id } of [here, other]) await storage(env, db, id).set("k", "1");
		const [[one], [two]] = [await rowsOf(here), await rowsOf(other)];
		expect(one?.key).not.toBe(two?.key);
		expect(await storage(env, db, here.id).get(one?.key ?? "")).toBeNull();
	});

	test("holds at most 1 MiB, whose values can still be replaced", async () => {
		const here = await home(
			go(`const value = "é".repeat(30000);
				for (let i = 10; i < 27; i++) await storage.set("k" + i, value);
				await storage.set("k10", "");
				await storage.set("k27", value);
				await storage.del("k27");
				await storage.set("k28", value);
				await storage.set("k28", value + "x");
				await storage.set("k29", value);`),
		);
		expect(await here.run("go")).toBe(FULL);
		const rows = await rowsOf(here);
		expect(rows).toHaveLength(18);
		const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
		expect(bytes).toBe(17 * (60_002 + 3) + 1 + (2 + 3));
	});

	test("holds at most 1,000 keys, whose values can still be replaced", async () => {
		const here = await home(go(`await storage.set("k0", 2); await storage.set("one more", 1)`));
		await storage(env, db, here.id).set("k0", "1");
		await db.run(sql`insert into plugin_storage (plugin_config_id, key, value, bytes)
			with recursive i (i) as (select 1 union all select i + 1 from i where i < 999)
			select ${here.id}, 'k' || i, '1', 4 from i`);
		expect(await here.run("go")).toBe(FULL);
		expect(await rowsOf(here)).toHaveLength(1000);
		expect(await storage(env, db, here.id).get("k0")).toBe("2");
	});
});

describe("a job runs in the isolate of the jobs before it", () => {
	const source = `let seen = false;
	exports.jobs = {
		go() { console.log("seen: " + seen); seen = true },
		fail() { seen = true; throw new Error("No.") },
		async abort() { (await import("cloudflare:workers")).abortIsolate("gone") },
	}`;

	/** Runs the job `go`. Returns whether a job ran in its isolate before. */
	async function isShared({ run, logs }: Home) {
		await run("go");
		return (await logs()).findLast((line) => line.includes("seen: "))?.endsWith("true");
	}

	test.each<[string, (here: Home) => Promise<unknown>]>([
		["its config was changed", ({ patch }) => patch({ config: { token: "another secret" } })],
		["its source was changed", ({ write }) => write(`${source} // changed`)],
		["another one failed", ({ run }) => run("fail")],
		["another one ended the isolate", ({ run }) => run("abort")],
		[
			"another one was interrupted",
			async (here) => {
				await queue(here, { lease_expires_at: LONG_AGO });
				await tick();
			},
		],
	])("until %s", async (_, end) => {
		const here = await home(source);
		expect([await isShared(here), await isShared(here)]).toEqual([false, true]);
		await end(here);
		expect([await isShared(here), await isShared(here)]).toEqual([false, true]);
	});

	test("but not in that of another config of the same plugin", async () => {
		const here = await home(source);
		expect(await isShared(here)).toBe(false);
		const body = { plugin: here.plugin, order: 2, config: { token: "hunter22" } };
		const configs = `/api/projects/${here.project}/plugin_configs`;
		const { id } = (await here.ask("POST", `${configs}/`, { body })).body;
		await queue({ ...here, id }, { name: "go" });
		await deliver();
		const { results } = (await here.ask("GET", `${configs}/${id}/logs?type_filter=LOG`)).body;
		expect(results).toMatchObject([{ message: "seen: false" }]);
	});

	test("but not in that of a job that is still running", async () => {
		const here = await home(source);
		expect([await isShared(here), await isShared(here)]).toEqual([false, true]);
		await queue(here, { lease_expires_at: new Date(Date.now() + 30_000).toISOString() });
		expect(await isShared(here)).toBe(false);
		await db.delete(pluginJobs).where(eq(pluginJobs.plugin_config_id, here.id));
		expect(await isShared(here)).toBe(true);
	});
});

describe("a waiting job", () => {
	const disable = ({ patch }: Home) => patch({ enabled: false });

	test.each<["job" | "task", string, (here: Home) => PromiseLike<unknown>, string]>([
		[
			"job",
			"its config was deleted",
			({ patch }) => patch({ deleted: true }),
			"SYSTEM ERROR The job greet was not run: its config is deleted.",
		],
		[
			"job",
			"its organization lost its access to plugins",
			({ organization }) => levelOf(organization, 0),
			"SYSTEM ERROR The job greet was not run: the organization's plugin access level is insufficient.",
		],
		[
			"task",
			"its config was disabled",
			disable,
			"SYSTEM ERROR The task runEveryHour was not run: its config is disabled.",
		],
		["job", "its config was disabled", disable, "SYSTEM INFO The job greet is done."],
	])("of kind %s ends after %s", async (kind, _, change, line) => {
		const here = await home();
		await change(here);
		await queue(here, { kind, name: kind === "job" ? "greet" : "runEveryHour" });
		await deliver();
		expect(await jobsOf(here.id)).toEqual([]);
		await levelOf(here.organization, 9);
		const result = line.includes("ERROR") ? "failed" : "done";
		const results = Object.entries((await here.row())?.results ?? {});
		expect(results.map(([hour, n]) => [hour.slice(14), n])).toEqual([[result, 1]]);
		expect((await here.logs()).at(-1)).toBe(line);
	});

	test("doesn't run, and leaves nothing, if its config is deleted permanently", async () => {
		const here = await home();
		await queue(here, {}, 2);
		await queue(here, { lease_expires_at: LONG_AGO });
		expect((await here.ask("DELETE", here.path)).status).toBe(204);
		for (let i = 0; i < 2; i += 1) await deliver();
		expect(await jobsOf(here.id)).toHaveLength(1);
		await tick();
		expect(await jobsOf(here.id)).toEqual([]);
		expect(await systemEvents(here.organization)).toEqual([]);
	});
});

test("a job whose config is deleted permanently while it runs leaves nothing", async () => {
	const here = await home(go("throw new Error('No.')"));
	await queue(here, { name: "go" });
	await deliver(interrupted(() => here.ask("DELETE", here.path)));
	expect(await jobsOf(here.id)).toEqual([]);
	expect((await here.ask("GET", here.path)).status).toBe(404);
	expect(await systemEvents(here.organization)).toEqual([]);
});

test("a deleted config runs no jobs until it is restored", async () => {
	const { patch, start } = await home();
	await patch({ deleted: true });
	expect(await start({ type: "greet" })).toMatchObject(
		wrong("invalid_input", "This plugin configuration is deleted.", null),
	);
	await patch({ deleted: false });
	expect((await start({ type: "greet" })).status).toBe(200);
});

test.each(["built", "stated"])(
	"a job runs if the main file of its installed plugin (%s) is in dist/",
	async (name) => {
		const { here, ask, project, organization_id } = await world();
		const url = `https://www.npmjs.com/package/${name}`;
		const { body } = await here("POST", "/pipeline_frontend_apps", { body: { url } });
		expect(body.capabilities).toEqual({ jobs: ["go"] });
		const configs = `/api/projects/${project}/plugin_configs`;
		const config = await ask("POST", configs, { body: { plugin: body.id, order: 1 } });
		await queue({ id: config.body.id, organization_id }, { name: "go" });
		await deliver();
		const { results } = (await ask("GET", `${configs}/${config.body.id}/logs`)).body;
		expect(results.toReversed()).toMatchObject([
			{ source: "CONSOLE", message: "built" },
			{ source: "SYSTEM", message: "The job go is done." },
		]);
	},
);

test("if the runtime has no sandbox, the job fails and its log says why", async () => {
	const here = await home();
	await queue(here);
	await deliver({ LOADER: undefined });
	const error = "This runtime has no sandbox (LOADER), so plugins don't run.";
	expect((await here.read()).error).toBe(error);
	expect((await here.logs()).at(-1)).toBe(`SYSTEM ERROR ${error}`);
});

test("a plugin can only connect to the host names that its config allows", async () => {
	const { patch, run } = await home(go(`await fetch("https://other.example.com/")`));
	await patch({ config: { allowed_hosts: ["api.example.com"] } });
	expect(await run("go")).toContain("may not reach other.example.com");
});

test("an allowed host must be public", async () => {
	/** What a sandbox gets from a host where private destinations are not allowed. */
	const fetchFrom = (host: string) => {
		const context = Object.assign(createExecutionContext(), { props: { hosts: [host] } });
		return new Outbound(context, { ...env, ALLOW_PRIVATE_DESTINATIONS: "false" })
			.fetch(new Request(`https://${host}/`))
			.then(
				({ status }) => status,
				({ message }) => message.replace(`This plugin may not reach ${host}: ${host} `, ""),
			);
	};
	for (const host of ["db.localhost", "metadata.google.internal"])
		expect(await fetchFrom(host)).toBe("is a name of a private network.");
	expect(await fetchFrom("inside.example.test")).toBe("resolves to the private address 10.0.0.5.");
	expect(await fetchFrom("public.example.test")).toBe(599);
});

describe("the queue", () => {
	test("runs each job once even if it delivers more messages than there are jobs", async () => {
		const here = await home();
		await queue(here);
		await Promise.all([deliver(), deliver(), deliver()]);
		expect((await here.logs()).filter((line) => line.includes("Hello Ada"))).toHaveLength(1);
	});

	test("sends another message while jobs wait, so one message is enough for all of them", async () => {
		const homes = [await home(), await home()];
		for (const here of homes) await queue(here, {}, 3);
		const { sent, queue: JOBS } = keeping();
		do await deliver({ JOBS });
		while (sent.pop());
		for (const { logs } of homes)
			expect((await logs()).filter((line) => line.includes("is done"))).toHaveLength(3);
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

	test.each([
		[
			"of an unknown key",
			async () => ({ token: `sealed:AAAAAAAA:AAAAAAAAAAAAAAAA:${"A".repeat(22)}` }),
			"No key of SECRETS_KEY",
		],
		[
			"copied from another config",
			async () => (await (await home()).row())?.config ?? {},
			"OperationError",
		],
	])(
		"fails a job whose secrets can't be decrypted (%s), and tells only the operator why",
		async (_, otherConfig, reason) => {
			const error = vi.spyOn(console, "error").mockImplementation(() => {});
			const here = await home();
			await here.set({ config: await otherConfig() });
			await queue(here);
			await deliver();
			expect((await here.logs()).at(-1)).toBe(
				"SYSTEM ERROR The job greet was not run: the secrets of its config can't be decrypted.",
			);
			expect(String(error.mock.calls)).toContain(reason);
			error.mockRestore();
		},
	);

	test.each([
		["is done", "await storage.get('k')"],
		["fails", "await storage.get('k'); throw new Error('Too late.')"],
	])(
		"doesn’t overwrite the result of a job that was failed while it ran, and then %s",
		async (_, slow) => {
			const here = await home(go(slow));
			const { organization, id, logs, read } = here;
			await queue(here, { name: "go" });
			await deliver(
				interrupted(async () => {
					const its = eq(pluginJobs.plugin_config_id, id);
					await db.update(pluginJobs).set({ lease_expires_at: LONG_AGO }).where(its);
					await tick();
				}),
			);
			const message = "The job was interrupted by a restart. It isn't run again.";
			expect((await read()).error).toBe(message);
			expect((await logs()).at(-1)).toBe(`SYSTEM ERROR ${message}`);
			expect(await systemEvents(organization)).toMatchObject([
				{ type: "plugin_job.failed", name: "go", trigger: { error: message } },
			]);
		},
	);
});

describe("organizations take turns:", () => {
	const MINUTE = Date.parse("2099-01-01T00:00:00.000Z");
	/** A home whose plugin has `count` tasks that run every minute, and `others`. */
	async function busy(count: number, others: string[] = []) {
		const here = await home();
		const minutely = Array.from({ length: count }, (_, i) => `runEveryMinute${i}`);
		await db
			.update(plugins)
			.set({ capabilities: { scheduled_tasks: [...minutely, ...others] } })
			.where(eq(plugins.id, here.plugin));
		return here;
	}

	const run = async (count: number) => {
		for (let i = 0; i < count; i += 1) await deliver();
	};

	test("an organization's task runs right after the first of another's 30", async () => {
		const many = await busy(10);
		await Promise.all([many.copy(2), many.copy(3)]);
		const few = await home();
		await tick(MINUTE);
		expect(await jobsOf(many.id)).toHaveLength(10);
		expect(await jobsOf(few.id)).toHaveLength(3);
		// Each of the three tasks waits for at most one of the other's.
		for (const left of [2, 1, 0]) {
			await run(2);
			expect((await jobsOf(few.id)).length).toBeLessThanOrEqual(left);
		}
	});

	test("at most 1,000 tasks of an organization are queued per minute; the log of each config says once how many were dropped", async () => {
		const many = await busy(1200);
		const copy = await many.copy(2);
		await tick(MINUTE);
		expect(await jobsOf(many.id)).toHaveLength(1000);
		await db.delete(pluginJobs).where(eq(pluginJobs.organization_id, many.organization_id));
		await tick(MINUTE + 20_000);
		expect(await jobsOf(copy)).toEqual([]);
		const logs = `/api/projects/${many.project}/plugin_configs/${copy}/logs`;
		expect((await many.ask("GET", logs)).body.results).toMatchObject([
			{
				source: "SYSTEM",
				type: "WARN",
				timestamp: new Date(MINUTE).toISOString(),
				message: "1,200 tasks were dropped: an organization can start 1,000 tasks a minute.",
			},
		]);
		expect((await many.logs()).filter((line) => line.includes("dropped"))).toEqual([
			"SYSTEM WARN 200 tasks were dropped: an organization can start 1,000 tasks a minute.",
		]);
	});

	test("waiting tasks count towards the limit, and daily and hourly tasks come first", async () => {
		const here = await busy(998, ["runEveryHour", "runEveryDay"]);
		await queue(here, { kind: "task", name: "before" }, 997);
		await tick(MINUTE);
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
			await tick(MINUTE + minutes * 60_000);
			return (await jobsOf(here.id)).map(({ name }) => name).filter((name) => name !== "before");
		};
		expect(await tickAt(0, 998)).toEqual(["runEveryDay", "runEveryHourA"]);
		expect(await tickAt(1, 1000)).toEqual([]);
		expect(await tickAt(1.5, 0)).toEqual([]);
		expect(await tickAt(2, 0)).toEqual(["runEveryHourB", "runEveryMinute0"]);
		expect(await tickAt(3, 0)).toEqual(["runEveryMinute0"]);
	});

	test("a job runs right after the first of another's 50", async () => {
		const [many, few] = [await home(), await home()];
		for (let i = 0; i < 3; i += 1) await many.start({ type: "greet" });
		await queue(many, {}, 50);
		await run(2);
		await few.start({ type: "greet" });
		await run(2);
		expect(await jobsOf(few.id)).toEqual([]);
		expect((await jobsOf(many.id)).length).toBeGreaterThanOrEqual(50);
	});

	test("queuing and taking a job costs the same however many jobs of another organization wait", async () => {
		const [many, few] = [await home(), await home()];
		const costs = async () => {
			const queued = cost(await few.start({ type: "greet" })).read;
			let taken = 0;
			const DB = Object.assign(Object.create(env.DB), {
				batch: async <T>(statements: D1PreparedStatement[]) => {
					const results = await env.DB.batch<T>(statements);
					for (const { meta } of results) taken += meta.rows_read;
					return results;
				},
			});
			await deliver({ DB });
			return { queued, taken };
		};
		await queue(many, {}, 100);
		const before = await costs();
		await queue(many, {}, 1000);
		const after = await costs();
		expect(after.queued).toBeLessThan(before.queued + 20);
		expect(after.taken).toBeLessThan(before.taken + 20);
	});
});

describe("the schedule", () => {
	const at = (hours: number, minutes: number, day = 1) => Date.UTC(2099, 5, day, hours, minutes);
	const namesOf = async ({ id }: Home) => (await jobsOf(id)).map(({ name }) => name);
	/** Runs a tick, and returns the tasks of a config that it queued. */
	const queued = async (time: number, here: Home) => {
		await db.delete(pluginJobs);
		await tick(time);
		return namesOf(here);
	};
	const ALL = ["runEveryDay", "runEveryHour", "runEveryMinute"];

	test("runs the tasks of enabled configs once per minute, hour and day, however often it ticks", async () => {
		const [on, off] = [await home(), await home(SOURCE, false)];
		await Promise.all([0, 20_000, 40_000].map((ms) => tick(at(0, 0) + ms)));
		expect([await namesOf(on), await namesOf(off)]).toEqual([ALL, []]);
		for (const _ of ALL) await deliver();
		const log = (await on.logs()).join();
		for (const word of ["A day", "An hour", "A minute"]) expect(log).toContain(word);
		expect(await queued(at(0, 0) + 50_000, on)).toEqual([]);
		expect(await queued(at(0, 1), on)).toEqual(["runEveryMinute"]);
		// A tick that is late.
		expect(await queued(at(0, 0), on)).toEqual([]);
	});

	test("after missed ticks, runs the tasks of the current minute, hour and day only", async () => {
		const here = await home();
		expect(await queued(at(7, 58), here)).toEqual(ALL);
		expect(await queued(at(10, 7, 2), here)).toEqual(ALL);
		expect(await queued(at(10, 8, 2), here)).toEqual(["runEveryMinute"]);
		expect(await queued(at(11, 8, 2), here)).toEqual(["runEveryHour", "runEveryMinute"]);
		// The clock is set back.
		expect(await queued(at(10, 7, 1), here)).toEqual(ALL);
	});

	test("runs no tasks of a minute, hour or day that began before the config was enabled", async () => {
		const here = await home();
		await here.set({ enabled_at: new Date(at(10, 5)).toISOString() });
		expect(await queued(at(10, 7), here)).toEqual(["runEveryMinute"]);
		await here.patch({ enabled: false });
		expect(await queued(at(12, 0), here)).toEqual([]);
		await here.patch({ enabled: true });
		await db.delete(taskMinutes);
		expect(await queued(Date.parse((await here.row())?.enabled_at ?? ""), here)).toEqual([]);
	});

	test("runs no tasks of an organization that has lost its access to plugins", async () => {
		const here = await home();
		await levelOf(here.organization, 2);
		expect(await queued(at(10, 7), here)).toEqual([]);
		await levelOf(here.organization, 3);
		expect(await queued(at(10, 8), here)).toEqual(["runEveryMinute"]);
	});

	test("sends another message for a job whose message was lost", async () => {
		await queue(await home());
		const { sent, queue: JOBS } = keeping();
		await worker.scheduled(createScheduledController({ cron: "* * * * *" }), { ...env, JOBS });
		expect(sent).toHaveLength(1);
	});

	test("fails a job that a restart interrupted, and never runs it again", async () => {
		const here = await home(SOURCE, false);
		await queue(here, { lease_expires_at: LONG_AGO });
		await tick();
		expect(await jobsOf(here.id)).toEqual([]);
		const error = "The job was interrupted by a restart. It isn't run again.";
		expect((await here.logs()).at(-1)).toBe(`SYSTEM ERROR ${error}`);
		expect((await here.read()).error).toBe(error);
	});

	test("finds interrupted jobs of an organization that had many, while jobs of others wait", async () => {
		const [many, few] = [await home(SOURCE, false), await home(SOURCE, false)];
		await queue(many, {}, 3);
		await queue(many, { lease_expires_at: LONG_AGO });
		await db.delete(pluginJobs).where(isNull(pluginJobs.lease_expires_at));
		await queue(few, {}, 2);
		await tick();
		expect([await jobsOf(many.id), (await jobsOf(few.id)).length]).toEqual([[], 2]);
	});

	test("deletes only log entries that are older than seven days", async () => {
		const { id, logs } = await home();
		const days = (n: number) => new Date(Date.now() - n * 86_400_000).toISOString();
		await db.delete(pluginLogs).where(eq(pluginLogs.plugin_config_id, id));
		for (const n of [9, 8, 6]) await logOfConfig(id, { message: `${n} days`, timestamp: days(n) });
		await tick();
		expect(await logs()).toEqual(["CONSOLE LOG 6 days"]);
	});
});
