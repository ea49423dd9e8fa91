import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { organizations, projects } from "../../src/db/schema/organizations.ts";
import { users } from "../../src/db/schema/people.ts";
import { wrongCounters } from "../support/counters.ts";
import { logOfConfig, logOfExport } from "../support/logs.ts";
import { addBackfills, addRuns, call, db, furnished, join, LEASED } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

/** What a step acts with: one of a few numbers, so that steps meet what others have made. */
type Step = (home: Home, n: number) => Promise<unknown>;

/** The first results of a list. */
const list = async ({ ask }: Home, path: string) => (await ask("GET", path)).body.results ?? [];

/** Does something to the `n`th result of a list, if there is one. */
const to =
	(
		path: (home: Home) => string,
		act: (home: Home, at: string, row: Record<string, unknown>) => Promise<unknown>,
	): Step =>
	async (home, n) => {
		const rows = await list(home, path(home));
		const row = rows[n % Math.max(1, rows.length)];
		if (row) await act(home, `${path(home)}/${row.id}`, row);
	};

const org = ({ id }: Home) => `/api/organizations/${id}`;
const inProject = ({ project }: Home) => `/api/projects/${project}`;
const remove = (path: (home: Home) => string) => to(path, ({ ask }, at) => ask("DELETE", at));
const patch =
	(path: (home: Home) => string, body: (n: number) => object): Step =>
	async (home, n) =>
		to(path, ({ ask }, at) => ask("PATCH", at, { body: body(n) }))(home, n);
const post =
	(path: (home: Home) => string, body: (home: Home, n: number) => object): Step =>
	(home, n) =>
		home.ask("POST", path(home), { body: body(home, n) });

const invites = (home: Home) => `${org(home)}/invites`;
const domains = (home: Home) => `${org(home)}/domains`;
const allProjects = (home: Home) => `${org(home)}/projects`;
const keys = () => "/api/personal_api_keys";
const batchExports = (home: Home) => `${org(home)}/batch_exports`;
const configs = (home: Home) => `${inProject(home)}/plugin_configs`;
const plugins = (home: Home) => `${org(home)}/pipeline_destinations`;
const importers = (home: Home) => `${org(home)}/pipeline_import_apps`;

/** Operations of the API and of the operator, and rows that other services write. */
const STEPS: Record<string, Step> = {
	// Three addresses: an invite replaces the one before it.
	invite: post(invites, (_, n) => ({ target_email: `guest-${n % 3}@example.com` })),
	uninvite: remove(invites),
	"accept an invite": async (home, n) => {
		const invited = await home.ask("POST", invites(home), {
			body: { target_email: `joins-${home.id}-${n}@example.com` },
		});
		const token = invited.body.accept_url?.split("/").at(-1);
		if (token) await call("POST", `/api/invites/${token}/accept`);
	},
	join: async (home, n) => {
		const someone = await join(home.id, n % 2 ? 8 : 1);
		await home.ask("POST", `${inProject(home)}/members`, {
			body: { user_uuid: someone.uuid, level: 1 },
		});
	},
	"remove a member": to(
		(home) => `${org(home)}/members`,
		(home, _, { user }) => home.here("DELETE", `/members/${Object(user).uuid}`),
	),
	"remove a project's member": to(
		(home) => `${inProject(home)}/members`,
		(home, _, { user }) => home.ask("DELETE", `${inProject(home)}/members/${Object(user).uuid}`),
	),
	"deactivate somebody": async (home) => {
		const { email } = await join(home.id, 1);
		await exports.Operator.run("user deactivate", JSON.stringify({ email }));
	},
	"delete a user": async (home) => {
		const { id } = await join(home.id, 1);
		await db.delete(users).where(eq(users.id, id));
	},
	"rename and reactivate": async (home, n) => {
		const { id } = await join(home.id, 1);
		await db
			.update(users)
			.set({ first_name: `Özil ${n}`, is_active: false })
			.where(eq(users.id, id));
		if (n % 2) await db.update(users).set({ is_active: true }).where(eq(users.id, id));
	},
	"add a domain": post(domains, (home, n) => ({ domain: `d${n}-${home.project}.example.com` })),
	"remove a domain": remove(domains),
	"create a project": post(allProjects, (_, n) => ({
		name: `P ${n}`,
		access_control: n % 2 === 0,
	})),
	"open or close a project": patch(allProjects, (n) => ({ access_control: n % 2 === 0 })),
	"delete a project": async (home, n) => {
		const rows = await list(home, allProjects(home));
		const others = rows.filter(({ id }: { id: number }) => id !== home.project);
		const project = others[n % Math.max(1, others.length)];
		if (project) await home.ask("DELETE", `/api/projects/${project.id}`);
	},
	"create a key": post(keys, () => ({ label: "K", scopes: ["user:read"] })),
	"revoke a key": to(keys, async (home, at, { label }) => {
		if (label === "K") await home.ask("DELETE", at);
	}),
	"create an export": to(allProjects, ({ ask }, at) =>
		ask("POST", `/api/projects/${at.split("/").at(-1)}/batch_exports`, {
			body: { name: "E", destination: { type: "NoOp" }, interval: "hour" },
		}),
	),
	"delete an export": remove(batchExports),
	"pause an export": to(batchExports, ({ ask }, at) => ask("POST", `${at}/pause`)),
	"backfill an export": to(batchExports, async ({ project }, at) => {
		const batch_export = at.split("/").at(-1) ?? "";
		const range = { start_at: "2026-01-01T00:00:00.000Z", end_at: "2026-01-01T01:00:00.000Z" };
		const id = v7();
		const backfill = { ...range, id, project_id: project, interval: "hour" as const };
		await addBackfills(batch_export, { ...backfill, total_runs: 1 });
		await addRuns(batch_export, {
			backfill_id: id,
			by: "event",
			data_interval_start: range.start_at,
			data_interval_end: range.end_at,
			...LEASED,
		});
	}),
	"cancel a run": to(batchExports, async (home, at) => {
		const [run] = await list(home, `${at}/runs`);
		if (run) await home.ask("POST", `${at}/runs/${run.id}/cancel`);
	}),
	"log and forget": to(batchExports, async (_, at) => {
		const batch_export_id = at.split("/").at(-1) ?? "";
		await logOfExport(batch_export_id, { level: "ERROR" });
		await env.DB.prepare(
			`delete from batch_export_logs where batch_export_id = ?1 and position < (
				select max(position) from batch_export_logs where batch_export_id = ?1) - 1000`,
		)
			.bind(batch_export_id)
			.run();
	}),
	"create a plugin": post(plugins, (_, n) => ({ name: `P ${n}`, is_global: n % 2 === 0 })),
	"change a plugin": patch(plugins, (n) => ({
		is_global: n % 2 === 0,
		capabilities: n % 3 ? { methods: ["onEvent"] } : { scheduled_tasks: ["runEveryHour"] },
	})),
	"change an importer": patch(importers, (n) => ({
		capabilities: n % 2 ? { methods: ["composeWebhook"], scheduled_tasks: ["runEveryHour"] } : {},
	})),
	"delete a plugin": remove(plugins),
	"configure a plugin": to(plugins, (home, _, { id }) =>
		home.ask("POST", configs(home), { body: { plugin: id, order: 1, enabled: true } }),
	),
	"change a config": patch(configs, (n) => ({ enabled: n % 2 === 0, deleted: n % 3 === 0 })),
	"delete a config": remove(configs),
	"log of a config": to(configs, async (_, at) => {
		await logOfConfig(Number(at.split("/").at(-1)), { level: "WARN" });
	}),
};

/** Tests the counters after each step once, in a random order, and then after random steps. */
export const testCounters = (runs: number) =>
	test("after any sequence of operations, each counter says what count(*) would", async () => {
		const home = await furnished();
		const names = Object.keys(STEPS);
		const all = fc.shuffledSubarray(names, { minLength: names.length });
		const sequence = fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(11)), {
			minLength: 40,
			maxLength: 40,
		});
		const [order = []] = fc.sample(all, { numRuns: 1, seed: 1 });
		const random = runs === 0 ? [] : fc.sample(sequence, { numRuns: runs, seed: 2 }).flat();
		for (const [name, n] of [...order.map((step, i) => [step, i] as const), ...random]) {
			await STEPS[name]?.(home, n);
			const wrong = await wrongCounters();
			expect({ after: name, wrong }).toEqual({ after: name, wrong: [] });
		}
		await db.delete(projects).where(eq(projects.id, home.project));
		expect(await wrongCounters()).toEqual([]);
		await db.delete(organizations).where(eq(organizations.uuid, home.id));
		expect(await wrongCounters()).toEqual([]);
	});
