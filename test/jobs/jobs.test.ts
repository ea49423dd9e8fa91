import {
	createExecutionContext,
	createMessageBatch,
	createScheduledController,
	getQueueResult,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { and, desc, eq, gt, inArray, lt, sql } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { digests, unseal } from "../../src/auth/secrets.ts";
import {
	organizations,
	pluginConfigs,
	pluginJobs,
	pluginLogEntries,
	pluginStorage,
	plugins,
} from "../../src/db/schema.ts";
import { allowedHosts, Outbound } from "../../src/jobs/outbound.ts";
import { storage } from "../../src/jobs/storage.ts";
import worker from "../../src/worker.ts";
import { wrong } from "../support/refusals.ts";
import { eventually } from "../support/time.ts";
import { cost, db, weighing, world } from "../support/world.ts";

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
			organization_id: here.id,
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
	const latest = async () =>
		(
			await db
				.select()
				.from(pluginJobs)
				.where(eq(pluginJobs.plugin_config_id, config?.id ?? 0))
				.orderBy(desc(pluginJobs.id))
		)[0];
	/** Until the newest job has ended. */
	const ended = () =>
		eventually(async () => {
			const job = await latest();
			expect(job?.finished_at ?? null).not.toBeNull();
			return job;
		});
	return {
		...here,
		organization: here.id,
		id: config?.id ?? 0,
		path,
		start,
		logs,
		read,
		latest,
		ended,
	};
}

const tick = (at: Date | number = Date.now()) =>
	worker.scheduled(
		createScheduledController({
			cron: "* * * * *",
			scheduledTime: new Date(at),
		}),
		env,
	);

test("a job is queued, runs in a sandbox, and says what it did", async () => {
	const { start, logs, read, ended, path } = await home();
	const answer = await start({
		type: "greet",
		payload: { name: "Ada" },
		operation: "start",
	});
	expect([answer.status, answer.body, answer.headers.get("content-length")]).toEqual([
		200,
		null,
		"0",
	]);
	expect(answer.headers.get("link")).toBe(`<${path}/logs/>; rel="monitor"`);
	expect(await ended()).toMatchObject({ kind: "job", status: "done" });
	await start({ type: "greet", payload: { name: "Eve" } });
	await eventually(async () =>
		expect((await logs()).join()).toContain("Hello Eve for the 2. time"),
	);
	const said = await logs();
	expect(said).toEqual(
		expect.arrayContaining([
			"SYSTEM INFO The job greet was queued.",
			"CONSOLE LOG Hello Ada for the 1. time",
			"PLUGIN INFO The token is ***",
			"SYSTEM INFO The job greet is done.",
		]),
	);
	expect(await read()).toMatchObject({ error: null, delivery_rate_24h: "1" });
	expect(JSON.stringify(await db.select().from(pluginLogEntries))).not.toContain("hunter22");
});

test("a field that ceased to be secret is handed to the plugin in the clear, and still not told", async () => {
	const source = `exports.jobs = { go(_, { config }) { console.log(config.token, config.token.length) } }`;
	const { here, read, start, ended, logs } = await home(source);
	const path = `/pipeline_frontend_apps/${(await read()).plugin}`;
	const { status } = await here("PATCH", path, { body: { config_schema: [] } });
	expect(status).toBe(200);
	await start({ type: "go" });
	await ended();
	expect(await logs()).toContain("CONSOLE LOG *** 8");
});

test("a job that fails sets the error and the rate, and is not run again", async () => {
	const { start, read, ended, logs } = await home();
	await start({ type: "greet", payload: {} });
	await ended();
	await start({ type: "fail" });
	await eventually(async () => expect((await read()).error).toContain("It broke with ***"));
	expect(await read()).toMatchObject({ delivery_rate_24h: "0.5" });
	expect((await logs()).filter((line: string) => line.includes("It broke"))).toHaveLength(1);
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
])("%j is refused", async (job, code, detail, attr) => {
	const { start } = await home();
	expect(await start(job)).toMatchObject(wrong(code, detail, attr));
});

test("a public job counts, too; what the code lacks fails", async () => {
	const { start, read, ended } = await home();
	const { plugin } = await read();
	await db
		.update(plugins)
		.set({ public_jobs: { shown: {} } })
		.where(eq(plugins.id, plugin));
	expect((await start({ type: "shown" })).status).toBe(200);
	expect(await ended()).toMatchObject({ status: "failed" });
});

describe("what a plugin keeps", () => {
	const go = (body: string) => `exports.jobs = { async go(_, { storage, config }) { ${body} } }`;
	/** Runs one job of this source; how it ended, and what is stored then. */
	async function keeping(source: string) {
		const here = await home(source);
		await here.start({ type: "go" });
		const job = await here.ended();
		const { error } = await here.read();
		const rows = await db
			.select()
			.from(pluginStorage)
			.where(eq(pluginStorage.plugin_config_id, here.id));
		const [totals] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, here.id));
		return { ...here, job, error, rows, totals };
	}
	const OLDER = btoa("o".repeat(32));
	const FULL = "Error: The storage is full: it has 1,000 keys and 1 MiB.";

	test("is sealed", async () => {
		const { rows, error } = await keeping(
			go(`await storage.set("token", config.token);
				if ((await storage.get("token")) !== config.token) throw new Error("It is lost.")`),
		);
		expect(error).toBeNull();
		expect(rows).toHaveLength(1);
		const [row] = rows;
		expect(row?.key).not.toContain("token");
		const place = { table: "plugin_storage", row: row?.plugin_config_id ?? 0 };
		expect(await unseal(env, row?.value ?? "", { ...place, field: "token" })).toBe('"hunter22"');
		// Neither the row of another config nor another key's opens with it.
		for (const other of [
			{ ...place, row: 0, field: "token" },
			{ ...place, field: "other" },
		])
			await expect(unseal(env, row?.value ?? "", other)).rejects.toThrow();
	});

	test.each([
		["as it is", (_: number) => "k"],
		[
			"by the digest of an older key",
			async (id: number) =>
				(await digests({ ...env, SECRETS_KEY: OLDER }, "plugin_storage", `${id}:k`))[0] ?? "",
		],
	])("under a key that was stored %s is found, replaced and removed", async (_, named) => {
		const { id } = await home();
		const key = await named(id);
		const rotated = { ...env, SECRETS_KEY: `${env.SECRETS_KEY},${OLDER}` };
		const kept = storage(rotated, db, id);
		const insert = () =>
			db.insert(pluginStorage).values({ plugin_config_id: id, key, value: '"old"', bytes: 6 });
		const rows = () =>
			db.select().from(pluginStorage).where(eq(pluginStorage.plugin_config_id, id));
		await insert();
		expect(await kept.get("k")).toBe('"old"');
		expect(await kept.set("k", '"new"')).toBe(true);
		expect(await kept.get("k")).toBe('"new"');
		expect((await rows()).map((row) => row.key)).toEqual([expect.stringMatching(/^hmac:/)]);
		expect((await rows())[0]?.key).not.toBe(key);
		const [totals] = await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id));
		expect(totals).toMatchObject({ storage_keys: 1, storage_bytes: 6 });
		await kept.del("k");
		await insert();
		await kept.del("k");
		expect(await rows()).toEqual([]);
		expect(await kept.get("k")).toBeNull();
		// Two versions of SECRETS_KEY at once: the newer one's row counts.
		await kept.set("k", "1");
		await insert();
		expect(await kept.get("k")).toBe("1");
		expect(await kept.set("k", "2")).toBe(true);
		expect(await kept.get("k")).toBe("2");
	});

	test("under a key that looks like a digest is not taken for that digest's row", async () => {
		const { id } = await home();
		const kept = storage(env, db, id);
		await kept.set("k", "1");
		const [row] = await db
			.select()
			.from(pluginStorage)
			.where(eq(pluginStorage.plugin_config_id, id));
		expect(await kept.get(row?.key ?? "")).toBeNull();
	});

	test("under the same key in two configs is not seen to be the same", async () => {
		const [one, two] = [await home(), await home()];
		for (const { id } of [one, two]) await storage(env, db, id).set("k", "1");
		const rows = await db
			.select()
			.from(pluginStorage)
			.where(inArray(pluginStorage.plugin_config_id, [one.id, two.id]));
		expect(new Set(rows.map(({ key }) => key)).size).toBe(2);
	});

	test("is at most 1 MiB", async () => {
		const { rows, error, totals } = await keeping(
			go(`const value = "é".repeat(30000);
				for (let i = 10; i < 27; i++) await storage.set("k" + i, value);
				await storage.set("k10", "");
				await storage.set("k27", value);
				await storage.del("k27");
				await storage.set("k28", value);
				await storage.set("k29", value);`),
		);
		expect(error).toBe(FULL);
		expect(rows).toHaveLength(18);
		const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
		expect(bytes).toBe(17 * (60_002 + 3) + (2 + 3));
		expect(totals).toMatchObject({
			storage_keys: rows.length,
			storage_bytes: bytes,
		});
	});

	test("has at most 1,000 keys, which may have other values", async () => {
		const { id, start, ended, read } = await home(
			go(`await storage.set("k0", 2); await storage.set("one more", 1)`),
		);
		await db.run(sql`insert into plugin_storage (plugin_config_id, key, value, bytes)
			with recursive i (i) as (select 0 union all select i + 1 from i where i < 999)
			select ${id}, 'k' || i, '1', 4 from i`);
		await start({ type: "go" });
		await ended();
		expect((await read()).error).toBe(FULL);
		const rows = await db
			.select()
			.from(pluginStorage)
			.where(eq(pluginStorage.plugin_config_id, id));
		expect(rows).toHaveLength(1000);
		expect(rows.map(({ key }) => key)).not.toContain("k0");
		const first = rows.find(({ value }) => value !== "1");
		const place = { table: "plugin_storage", row: id, field: "k0" };
		expect(await unseal(env, first?.value ?? "", place)).toBe("2");
	});
});

/** Hands a message to the queue's consumer, whatever other messages are on their way. */
async function deliver(other: Partial<Env> = {}, timestamp = new Date()) {
	const batch = createMessageBatch("tenantry-jobs", [
		{ id: "1", timestamp, attempts: 1, body: {} },
	]);
	await worker.queue(batch, { ...env, ...other });
	return getQueueResult(batch, createExecutionContext());
}

describe("a job that waits when", () => {
	/** Something happens, then a job or task that was queued before is taken. */
	async function waiting(
		kind: "job" | "task",
		happens: (here: Awaited<ReturnType<typeof home>>) => PromiseLike<unknown>,
	) {
		const here = await home();
		await happens(here);
		await db.insert(pluginJobs).values({
			plugin_config_id: here.id,
			kind,
			name: kind === "job" ? "greet" : "runEveryHour",
			payload: { name: "Ada" },
		});
		await deliver();
		await here.ended();
		const said = await db
			.select()
			.from(pluginLogEntries)
			.where(eq(pluginLogEntries.plugin_config_id, here.id))
			.orderBy(desc(pluginLogEntries.id))
			.limit(1);
		return {
			status: (await here.latest())?.status,
			said: said.map((one) => `${one.source} ${one.type} ${one.message}`),
		};
	}
	const disable = ({ ask, path }: Awaited<ReturnType<typeof home>>) =>
		ask("PATCH", path, { body: { enabled: false } });

	test("its config is deleted ends", async () => {
		const remove = ({ ask, path }: Awaited<ReturnType<typeof home>>) =>
			ask("PATCH", path, { body: { deleted: true } });
		expect(await waiting("job", remove)).toEqual({
			status: "failed",
			said: ["SYSTEM ERROR The job greet was not run: its config is deleted."],
		});
	});

	test("its organization loses access to plugins ends", async () => {
		const lose = (here: Awaited<ReturnType<typeof home>>) =>
			db
				.update(organizations)
				.set({ plugins_access_level: 0 })
				.where(eq(organizations.id, here.organization));
		expect(await waiting("job", lose)).toEqual({
			status: "failed",
			said: [
				"SYSTEM ERROR The job greet was not run: the organization's plugin access level is insufficient.",
			],
		});
	});

	test("its config is disabled ends if it is a task; a job that was asked for runs", async () => {
		expect(await waiting("task", disable)).toEqual({
			status: "failed",
			said: ["SYSTEM ERROR The task runEveryHour was not run: its config is disabled."],
		});
		expect(await waiting("job", disable)).toEqual({
			status: "done",
			said: ["SYSTEM INFO The job greet is done."],
		});
	});
});

test("a deleted config runs no jobs until it is back", async () => {
	const { ask, path, start } = await home();
	await ask("PATCH", path, { body: { deleted: true } });
	expect(await start({ type: "greet" })).toMatchObject(
		wrong("invalid_input", "This plugin configuration is deleted.", null),
	);
	await ask("PATCH", path, { body: { deleted: false } });
	expect((await start({ type: "greet" })).status).toBe(200);
});

test.each(["built", "stated"])(
	"a job of an installed plugin (%s) whose main file is below dist/ runs",
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

test("where the runtime has no sandbox the job ends with a word that says so", async () => {
	const { id, latest, logs } = await home();
	const { LOADER: _, ...without } = env;
	// Another message that is on its way may take the job first.
	do {
		await db.insert(pluginJobs).values({ plugin_config_id: id, kind: "job", name: "greet" });
		const batch = createMessageBatch("tenantry-jobs", [
			{ id: "1", timestamp: new Date(), attempts: 1, body: {} },
		]);
		await worker.queue(batch, Object.assign(Object.create(null), without));
	} while (!/sandbox/i.test((await logs()).join()));
	expect(await latest()).toMatchObject({ status: "failed" });
	expect((await logs()).at(-1)).toMatch(/^SYSTEM ERROR .*sandbox/i);
});

test("a plugin reaches the hosts that its config allows, by name, and no others", async () => {
	expect(allowedHosts({})).toEqual([]);
	expect(allowedHosts({ allowed_hosts: "api.example.com, Example.ORG" })).toEqual([
		"api.example.com",
		"example.org",
	]);
	const not = ["localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433", "a b", 7];
	expect(allowedHosts({ allowed_hosts: not })).toEqual([]);
	const source = `exports.jobs = { async go() { await fetch("https://other.example.com/") } }`;
	const { path, ask, start, read, ended } = await home(source);
	const config = { allowed_hosts: ["api.example.com"] };
	await ask("PATCH", path, { body: { config } });
	await start({ type: "go" });
	expect(await ended()).toMatchObject({ status: "failed" });
	expect((await read()).error).toContain("may not reach other.example.com");
});

describe("a host that a config allows", () => {
	/** What a sandbox hears that asks for this host, where private destinations are not allowed. */
	const asked = (host: string) => {
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
		"%s is not reached, being private",
		async (host) => {
			expect(await asked(host)).toBe(
				`This plugin may not reach ${host}: ${host} is a name of a private network.`,
			);
		},
	);

	test("is not reached where it leads to a private address", async () => {
		expect(await asked("inside.example.test")).toBe(
			"This plugin may not reach inside.example.test: inside.example.test leads to the private address 10.0.0.5.",
		);
		expect(await asked("public.example.test")).toBe(599);
	});
});

describe("the queue", () => {
	const stored = async (id: number) =>
		(await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id)))[0];
	const queue = (plugin_config_id: number, name = "greet") =>
		db.insert(pluginJobs).values({
			plugin_config_id,
			kind: "job",
			name,
			payload: { name: "Ada" },
		});

	test("that delivers more messages than there are jobs runs each job once", async () => {
		const { id, ended, logs } = await home();
		await queue(id);
		const results = await Promise.all([deliver(), deliver(), deliver()]);
		for (const { explicitAcks } of results) expect(explicitAcks).toEqual(["1"]);
		await ended();
		expect((await logs()).filter((line: string) => line.includes("Hello Ada"))).toHaveLength(1);
	});

	test("passes a message on while jobs wait, so one message is enough for all of them", async () => {
		const homes = [await home(), await home()];
		for (const { id } of homes) for (let i = 0; i < 5; i++) await queue(id);
		await deliver();
		for (const { id } of homes)
			await eventually(async () =>
				expect(
					await db.$count(
						pluginJobs,
						and(eq(pluginJobs.plugin_config_id, id), eq(pluginJobs.status, "done")),
					),
				).toBe(5),
			);
	});

	/** A D1 that answers no batch. */
	const down: Partial<Env> = {
		DB: Object.assign(Object.create(env.DB), {
			batch: async () => {
				throw new Error("D1 is down");
			},
		}),
	};

	test("tries a message again where D1 is down, and ignores one that is older than two minutes", async () => {
		const error = vi.spyOn(console, "error").mockImplementation(() => {});
		const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
		expect((await deliver(down, ago(110))).retryMessages).toHaveLength(1);
		expect((await deliver(down, ago(121))).explicitAcks).toEqual(["1"]);
		error.mockRestore();
	});

	test("keeps a thousand entries of the longest message, none of which is more than D1 takes as one value", async () => {
		const { id, ended, ask, path } = await home(
			"exports.jobs = { talk() { for (let i = 0; i < 1000; i++) console.log('\\u0001'.repeat(4000)) } }",
		);
		const { env: weighed, heaviest } = weighing();
		// Another message that is on its way may take the job first.
		while (heaviest() < 1_000_000) {
			await queue(id, "talk");
			await deliver(weighed);
		}
		expect(await ended()).toMatchObject({ status: "done" });
		const { body } = await ask("GET", `${path}/logs?limit=1&type_filter=LOG`);
		expect(body.count % 1000).toBe(0);
		expect(body.results[0].message).toHaveLength(4000);
		expect(heaviest()).toBeLessThan(2_000_000);
	});

	test.each([
		[
			"of an unknown key",
			async () => ({
				token: `sealed:2:AAAAAAAA:AAAAAAAAAAAAAAAA:${"A".repeat(22)}`,
			}),
			"No key of SECRETS_KEY",
		],
		[
			"copied from another config",
			async () => (await stored((await home()).id))?.config ?? {},
			"OperationError",
		],
	])(
		"fails a job whose secrets can't be decrypted (%s), and says why to the operator alone",
		async (_, other, why) => {
			const error = vi.spyOn(console, "error").mockImplementation(() => {});
			const { id, ended, logs } = await home();
			await db
				.update(pluginConfigs)
				.set({ config: await other() })
				.where(eq(pluginConfigs.id, id));
			await queue(id);
			await deliver();
			expect(await ended()).toMatchObject({ status: "failed" });
			expect((await logs()).at(-1)).toBe(
				"SYSTEM ERROR The job greet was not run: the secrets of its config can't be decrypted.",
			);
			expect(String(error.mock.calls)).toContain(why);
			error.mockRestore();
		},
	);

	test("keeps the end of a job that was given up while it ran", async () => {
		const { id, latest, ended, logs, read } = await home(
			"exports.jobs = { slow: (_, { storage }) => storage.get('k') }",
		);
		const batch = env.DB.batch.bind(env.DB);
		let trips = 0;
		const slow = Object.assign(Object.create(env.DB), {
			batch: async (statements: D1PreparedStatement[]) => {
				trips += 1;
				if (trips === 2) {
					const long_ago = "2026-01-01T00:00:00.000Z";
					await db
						.update(pluginJobs)
						.set({ started_at: long_ago })
						.where(eq(pluginJobs.plugin_config_id, id));
					await tick();
				}
				return batch(statements);
			},
		});
		while (trips < 2) {
			await queue(id, "slow");
			await deliver({ DB: slow });
		}
		expect(await ended()).toMatchObject({ status: "failed" });
		expect((await latest())?.status).toBe("failed");
		const cut = "The job was cut off by a restart, and is not run again.";
		expect((await read()).error).toBe(cut);
		expect((await logs()).at(-1)).toBe(`SYSTEM ERROR ${cut}`);
	});
});

describe("organizations take turns:", () => {
	const MINUTE = "2099-01-01T00:00:00.000Z";
	const jobs = (id: number) =>
		db.select().from(pluginJobs).where(eq(pluginJobs.plugin_config_id, id));
	const forget = (id: number) => db.delete(pluginJobs).where(eq(pluginJobs.plugin_config_id, id));

	beforeEach(() => db.update(pluginConfigs).set({ enabled: false }));

	/** Queues as many jobs or tasks, without a message. */
	const waiting = (id: number, kind: "job" | "task", count: number) =>
		db.run(sql`insert into plugin_jobs (plugin_config_id, kind, name, status, created_at)
			select ${id}, ${kind}, 'greet', 'queued', '' from json_each(${JSON.stringify([...Array(count).keys()])})`);

	/** A home whose plugin has `count` tasks of every minute, and others. */
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
		const copy = (at: number) =>
			db
				.insert(pluginConfigs)
				.values({
					project_id: here.project,
					organization_id: here.organization,
					plugin_id: plugin,
					order: at,
					enabled: true,
					enabled_at: new Date().toISOString(),
				})
				.returning();
		return { ...here, copy };
	}

	test("one task of an organization is run right after the first of another's 3,000", async () => {
		const many = await busy(1000);
		const copies = (await Promise.all([many.copy(2), many.copy(3)])).flat();
		const few = await home();
		await tick(Date.parse(MINUTE));
		const job = await eventually(async () => {
			const found = (await jobs(few.id)).find(({ name }) => name === "runEveryMinute");
			expect(found?.finished_at ?? null).not.toBeNull();
			return found;
		});
		const taken = (await jobs(many.id)).filter(
			({ started_at }) => started_at !== null && started_at < (job?.started_at ?? ""),
		);
		const others = (await Promise.all(copies.map(({ id }) => jobs(id)))).flat();
		await Promise.all([many.id, ...copies.map(({ id }) => id)].map(forget));
		// Each of this organization's three tasks (of a day, an hour and a minute) waits for one of the other's at most.
		expect(taken.length).toBeLessThanOrEqual(3);
		expect(others).toEqual([]);
	});

	test("an organization queues 1,000 tasks a minute; the log of each config tells once how many were dropped", async () => {
		const many = await busy(1200);
		const [copy] = await many.copy(2);
		await tick(Date.parse(MINUTE));
		expect(await jobs(many.id)).toHaveLength(1000);
		await db
			.update(pluginJobs)
			.set({ status: "done", finished_at: new Date().toISOString() })
			.where(eq(pluginJobs.plugin_config_id, many.id));
		await tick(Date.parse(MINUTE) + 20_000);
		expect(await jobs(copy?.id ?? 0)).toEqual([]);
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
		await forget(many.id);
	});

	test("tasks that still wait count, and those of a day and of an hour come first", async () => {
		const here = await busy(998, ["runEveryHour", "runEveryDay"]);
		await waiting(here.id, "task", 997);
		await tick(Date.parse(MINUTE));
		const rows = await jobs(here.id);
		await forget(here.id);
		const queued = rows.filter(({ created_at }) => created_at === MINUTE);
		expect(queued.map(({ name }) => name).slice(0, 3)).toEqual([
			"runEveryDay",
			"runEveryHour",
			"runEveryMinute0",
		]);
		const still = rows.filter(({ created_at, status }) => created_at === "" && status === "queued");
		expect(still.length).toBeGreaterThan(0);
		expect(queued.length + still.length).toBeLessThanOrEqual(1000);
	});

	test("a job is run right after the first of another's 5,000", async () => {
		const [many, few] = [await home(), await home()];
		await waiting(many.id, "job", 5000);
		await few.start({ type: "greet", payload: { name: "Ada" } });
		await tick();
		const job = await few.ended();
		const taken = await db.$count(
			pluginJobs,
			and(
				eq(pluginJobs.plugin_config_id, many.id),
				gt(pluginJobs.started_at, job?.created_at ?? ""),
				lt(pluginJobs.started_at, job?.started_at ?? ""),
			),
		);
		await forget(many.id);
		expect(taken).toBeLessThanOrEqual(2);
	});

	test("queuing and taking a job costs the same however many of another organization wait", async () => {
		const [many, few] = [await home(), await home()];
		const costs = async () => {
			const queued = cost(await few.start({ type: "greet" })).read;
			let read = 0;
			const DB = Object.assign(Object.create(env.DB), {
				batch: async <T>(statements: D1PreparedStatement[]) => {
					const answers = await env.DB.batch<T>(statements);
					for (const { meta } of answers) read += meta.rows_read;
					return answers;
				},
			});
			await deliver({ DB });
			return { queued, taken: read };
		};
		await waiting(many.id, "job", 500);
		const before = await costs();
		// Neither what waits nor what has ended is read.
		await db
			.update(pluginJobs)
			.set({ status: "done" })
			.where(eq(pluginJobs.plugin_config_id, many.id));
		await waiting(many.id, "job", 5000);
		const after = await costs();
		await forget(many.id);
		expect(after.queued).toBeLessThan(before.queued + 20);
		expect(after.taken).toBeLessThan(before.taken + 20);
	});
});

describe("the schedule", () => {
	const at = (hours: number, minutes: number, day = 1) => Date.UTC(2099, 5, day, hours, minutes);
	const tasks = async (id: number) =>
		(await db.select().from(pluginJobs).where(eq(pluginJobs.plugin_config_id, id)))
			.map(({ name, scheduled_for }) => `${name} ${scheduled_for}`)
			.toSorted();

	test("runs the tasks of enabled configs, once for their minute, hour and day, however often it ticks", async () => {
		const [on, off] = [await home(), await home(SOURCE, false)];
		await Promise.all([tick(at(0, 0)), tick(at(0, 0) + 20_000)]);
		const first = [
			"runEveryDay 2099-06-01T00:00:00.000Z",
			"runEveryHour 2099-06-01T00:00:00.000Z",
			"runEveryMinute 2099-06-01T00:00:00.000Z",
		];
		expect(await tasks(on.id)).toEqual(first);
		await tick(at(0, 1));
		const second = [...first, "runEveryMinute 2099-06-01T00:01:00.000Z"];
		expect(await tasks(on.id)).toEqual(second);
		expect(await tasks(off.id)).toEqual([]);
		await eventually(async () => {
			const said = (await on.logs()).join();
			for (const word of ["A day", "An hour", "A minute"]) expect(said).toContain(word);
		});
	});

	test("makes up for the newest slot of each kind where ticks were missed", async () => {
		const { id } = await home();
		await tick(at(7, 58));
		await tick(at(10, 7, 2));
		await tick(at(10, 8, 2));
		expect(await tasks(id)).toEqual([
			"runEveryDay 2099-06-01T00:00:00.000Z",
			"runEveryDay 2099-06-02T00:00:00.000Z",
			"runEveryHour 2099-06-01T07:00:00.000Z",
			"runEveryHour 2099-06-02T10:00:00.000Z",
			"runEveryMinute 2099-06-01T07:58:00.000Z",
			"runEveryMinute 2099-06-02T10:07:00.000Z",
			"runEveryMinute 2099-06-02T10:08:00.000Z",
		]);
	});

	test("makes up for nothing from before the config was enabled", async () => {
		const { id, ask, path } = await home();
		const { enabled_at } = pluginConfigs;
		const between = new Date(at(10, 5)).toISOString();
		await db.update(pluginConfigs).set({ enabled_at: between }).where(eq(pluginConfigs.id, id));
		await tick(at(10, 7));
		const before = ["runEveryMinute 2099-06-01T10:07:00.000Z"];
		expect(await tasks(id)).toEqual(before);
		await ask("PATCH", path, { body: { enabled: false } });
		await tick(at(12, 0));
		expect(await tasks(id)).toEqual(before);
		await ask("PATCH", path, { body: { enabled: true } });
		const [row] = await db
			.select({ enabled_at })
			.from(pluginConfigs)
			.where(eq(pluginConfigs.id, id));
		await tick(Date.parse(row?.enabled_at ?? ""));
		expect(await tasks(id)).toEqual(before);
	});

	test("sends a job again whose message was lost", async () => {
		const { id, ended } = await home();
		await db.insert(pluginJobs).values({
			plugin_config_id: id,
			kind: "job",
			name: "greet",
			payload: { name: "Ada" },
			created_at: "2026-01-01T00:00:00.000Z",
		});
		await tick();
		expect(await ended()).toMatchObject({ status: "done" });
	});

	test("gives a job up that a restart cut off, and never runs it again", async () => {
		const { id, latest, logs, read } = await home(SOURCE, false);
		await db.insert(pluginJobs).values({
			plugin_config_id: id,
			kind: "job",
			name: "greet",
			status: "running",
			started_at: "2026-01-01T00:00:00.000Z",
		});
		await tick();
		expect(await latest()).toMatchObject({ status: "failed" });
		expect((await logs()).at(-1)).toBe(
			"SYSTEM ERROR The job was cut off by a restart, and is not run again.",
		);
		expect((await read()).error).toBe("The job was cut off by a restart, and is not run again.");
	});

	test("removes log entries and jobs that are older than seven days, and no others", async () => {
		const { id, path, ask } = await home();
		const days = (n: number) => new Date(Date.now() - n * 86_400_000).toISOString();
		for (const n of [6, 8]) {
			await db.insert(pluginLogEntries).values({
				team_id: 1,
				plugin_id: 1,
				plugin_config_id: id,
				source: "SYSTEM",
				type: "INFO",
				message: `${n} days`,
				instance_id: "00000000-0000-0000-0000-000000000000",
				timestamp: days(n),
			});
			await db.insert(pluginJobs).values({
				plugin_config_id: id,
				kind: "job",
				name: `${n}`,
				status: "done",
				finished_at: days(n),
			});
		}
		await tick();
		const messages = (await ask("GET", `${path}/logs`)).body;
		expect(messages.results.map(({ message }: { message: string }) => message)).not.toContain(
			"8 days",
		);
		expect(messages.results.at(-1).message).toBe("6 days");
		expect(messages.count).toBe(messages.results.length);
		const names = (
			await db.select().from(pluginJobs).where(eq(pluginJobs.plugin_config_id, id))
		).map(({ name }) => name);
		expect(names).toContain("6");
		expect(names).not.toContain("8");
	});
});
