import { env } from "cloudflare:workers";
import { and, eq, sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { deletions } from "../../src/db/schema/deletions.ts";
import { projects } from "../../src/db/schema/organizations.ts";
import { pluginConfigs, pluginStorage, plugins } from "../../src/db/schema/plugins.ts";
import { webhooks } from "../../src/db/schema/webhooks.ts";
import { purgeDeleted } from "../../src/deletions/purge.ts";
import { type Random, seeded } from "../support/random.ts";
import { db, keyFor, NOT_DUE, withBatch, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;

/** An object, its parents, and its paths. */
type Subject = {
	name: string;
	type: "project" | "plugin" | "plugin_config" | "batch_export" | "webhook";
	id: string;
	parents: string[];
	path: string;
	restore: string;
};

const HISTORIES = 1000;
const PER_TEST = 50;
const STEPS = 10;

/** Creates two projects, a plugin with a config in each, an export in each, and a webhook. */
async function create(home: Home): Promise<Subject[]> {
	const { organization_id } = home;
	const newProject = () =>
		db.insert(projects).values({ organization_id, name: "Project" }).returning({ id: projects.id });
	const [[one], [two], [plugin]] = await db.batch([
		newProject(),
		newProject(),
		db
			.insert(plugins)
			.values({ organization_id, plugin_type: "source", name: "Plugin", capabilities: {} })
			.returning({ id: plugins.id }),
	]);
	if (!one || !two || !plugin) throw new Error("Nothing was created.");
	const base = `/api/organizations/${home.id}`;
	const under = (path: string, id: string | number) => ({
		id: String(id),
		path: `${base}/${path}/${id}`,
		restore: `${base}/${path}/${id}/restore`,
	});
	const subjects: Subject[] = [];
	for (const [i, project] of [one, two].entries()) {
		const name = `project ${i}`;
		subjects.push({ name, type: "project", parents: [], ...under("projects", project.id) });
		const [[config], [batch_export]] = await db.batch([
			db
				.insert(pluginConfigs)
				.values({ project_id: project.id, organization_id, plugin_id: plugin.id, order: i })
				.returning({ id: pluginConfigs.id }),
			db
				.insert(batchExports)
				.values({
					organization_id,
					project_id: project.id,
					name: "Export",
					destination: { type: "NoOp", config: {} },
					interval: "hour",
					...NOT_DUE,
				})
				.returning({ id: batchExports.uuid }),
		]);
		if (!config || !batch_export) throw new Error("Nothing was created.");
		await db
			.insert(pluginStorage)
			.values({ plugin_config_id: config.id, key: "k", bytes: 1, value: "v" });
		const at = `/api/projects/${project.id}/plugin_configs/${config.id}`;
		subjects.push(
			{
				name: `config ${i}`,
				type: "plugin_config",
				id: String(config.id),
				parents: [name, "plugin"],
				path: at,
				restore: `${at}/restore`,
			},
			{
				name: `export ${i}`,
				type: "batch_export",
				parents: [name],
				...under("batch_exports", batch_export.id),
			},
		);
	}
	const webhook = crypto.randomUUID();
	await db.insert(webhooks).values({
		id: webhook,
		organization_id,
		url: "https://192.0.2.1/hook",
		types: ["nothing.happened"],
		selectors: ["Nothing.happened"],
		secret: "",
		position: 0,
		enabled: false,
	});
	return [
		...subjects,
		{
			name: "plugin",
			type: "plugin",
			id: String(plugin.id),
			parents: [],
			path: `${base}/pipeline_frontend_apps/${plugin.id}`,
			restore: `${base}/plugins/${plugin.id}/restore`,
		},
		{ name: "webhook", type: "webhook", parents: [], ...under("webhooks", webhook) },
	];
}

/** What should exist, and what each deletion has. */
class Model {
	readonly subjects: Map<string, Subject>;
	readonly alive: Set<string>;
	readonly deleted = new Map<string, Set<string>>();

	constructor(subjects: Subject[]) {
		this.subjects = new Map(subjects.map((subject) => [subject.name, subject]));
		this.alive = new Set(this.subjects.keys());
	}

	parentsOf = (name: string) => this.subjects.get(name)?.parents ?? [];

	/** Whether the path leads to it: configs are under their project. */
	#isReachable = (name: string) =>
		!name.startsWith("config") ||
		this.parentsOf(name)
			.slice(0, 1)
			.every((one) => this.alive.has(one));

	remove(name: string) {
		if (!this.alive.has(name) || !this.#isReachable(name)) return 404;
		const taken = [...this.alive].filter(
			(one) => one === name || this.parentsOf(one).includes(name),
		);
		for (const one of taken) this.alive.delete(one);
		this.deleted.set(name, new Set(taken));
		return 204;
	}

	restore(name: string, partial: boolean) {
		const taken = this.deleted.get(name);
		if (!this.#isReachable(name) || !taken) return 404;
		const present = new Set([...this.alive, ...taken]);
		const lacking = [...taken].filter(
			(one) => !this.parentsOf(one).every((parent) => present.has(parent)),
		);
		if (lacking.includes(name) || (lacking.length > 0 && !partial)) return 409;
		for (const one of taken) if (!lacking.includes(one)) this.alive.add(one);
		this.deleted.delete(name);
		return 200;
	}

	purge = (name: string) => this.deleted.delete(name);
}

/** Returns what exists, and what is deleted, in the database. */
async function read(home: Home, subjects: Subject[]) {
	const nameOf = new Map(subjects.map(({ name, type, id }) => [`${type} ${id}`, name]));
	const { organization_id: o } = home;
	const alive = await db.all<{ of: string }>(sql`
		select 'project ' || id as "of" from projects where organization_id = ${o}
		union all select 'plugin ' || id from plugins where organization_id = ${o}
		union all select 'plugin_config ' || c.id from plugin_configs as c join plugin_storage as s on s.plugin_config_id = c.id
			where c.organization_id = ${o}
		union all select 'batch_export ' || uuid from batch_exports where organization_id = ${o} and not deleted
		union all select 'webhook ' || id from webhooks where organization_id = ${o}`);
	const deleted = await db.all<{ of: string }>(
		sql`select type || ' ' || item_id as "of" from deletions where organization_id = ${o}`,
	);
	const names = (rows: { of: string }[]) =>
		rows.flatMap(({ of }) => nameOf.get(of) ?? []).toSorted();
	return { alive: names(alive), deleted: names(deleted) };
}

/** Variables for a request whose last batch is lost: before it runs, or only its results. */
function killed(random: Random) {
	const isRun = random.chance(0.5);
	const at = random.integer(1, 2);
	let batches = 0;
	const variables = withBatch(async (send) => {
		batches += 1;
		if (batches !== at) return send();
		if (isRun) await send();
		throw new Error("killed");
	});
	/** Whether the write has run. */
	return { variables, hasRun: isRun && at === 2 };
}

async function step({ home, key }: { home: Home; key: string }, random: Random, model: Model) {
	const [first, ...rest] = [...model.subjects.values()];
	if (!first) throw new Error("There are no subjects.");
	const subject = random.pick([first, ...rest]);
	const { name } = subject;
	const action = random.pick(["delete", "delete", "restore", "restore", "restore", "purge"]);
	if (action === "purge") {
		await db
			.update(deletions)
			.set({ deleted_at: "2020-01-01T00:00:00.000Z" })
			.where(and(eq(deletions.type, subject.type), eq(deletions.item_id, subject.id)));
		await purgeDeleted({ ...env, OBJECTS_PER_ORGANIZATION: "1000000" }, Date.now());
		model.purge(name);
		return `purge ${name}`;
	}
	const partial = random.chance(0.3);
	const kill = random.chance(0.2) ? killed(random) : undefined;
	const times = !kill && random.chance(0.2) ? 3 : 1;
	const options = { key, ...(kill && { env: kill.variables }) };
	const send = async () => {
		const sent =
			action === "delete"
				? home.ask("DELETE", subject.path, options)
				: home.ask("POST", subject.restore, { body: { partial }, ...options });
		// The document has no 500, so that a response with it is an error.
		return sent.catch((error: Error) => {
			if (!kill || !error.message.includes("→ 500")) throw error;
			return { status: 500 };
		});
	};
	const answers = await Promise.all(Array.from({ length: times }, send));
	const isKilled = kill && answers[0]?.status === 500;
	// The read may have failed already, and then nothing is written.
	const expected =
		isKilled && !kill.hasRun
			? 500
			: action === "delete"
				? model.remove(name)
				: model.restore(name, partial);
	const statuses = answers.map(({ status }) => status);
	const what = `${action} ${name}${partial ? ", partly" : ""}${kill ? ", killed" : ""}`;
	if (isKilled) return what;
	const isDone = expected < 300;
	expect(statuses.filter((status) => status < 300).length, `${what}: ${statuses}`).toBe(
		isDone ? 1 : 0,
	);
	if (!isDone) expect(new Set(statuses), what).toEqual(new Set([expected]));
	return what;
}

let home: Home;
beforeAll(async () => {
	home = await world();
});

test.each(Array.from({ length: HISTORIES / PER_TEST }, (_, i) => i * PER_TEST))(
	"random histories of deletions, restorations and removals leave what a model says, from seed %i",
	async (start) => {
		for (let seed = start; seed < start + PER_TEST; seed += 1) {
			const random = seeded(seed);
			const subjects = await create(home);
			const model = new Model(subjects);
			const steps: string[] = [];
			// The rate of a key is limited.
			const key = await keyFor(home.owner.id);
			for (let i = 0; i < STEPS; i += 1) {
				steps.push(await step({ home, key }, random, model));
				expect(await read(home, subjects), `${seed}: ${steps.join("; ")}`).toEqual({
					alive: [...model.alive].toSorted(),
					deleted: [...model.deleted.keys()].toSorted(),
				});
			}
			await db.batch([
				db.delete(deletions).where(eq(deletions.organization_id, home.organization_id)),
				db.delete(projects).where(eq(projects.organization_id, home.organization_id)),
				db.delete(plugins).where(eq(plugins.organization_id, home.organization_id)),
				db.delete(webhooks).where(eq(webhooks.organization_id, home.organization_id)),
				db.delete(batchExports).where(eq(batchExports.organization_id, home.organization_id)),
				db.run(sql`delete from deleted_rows`),
			]);
		}
	},
);
