import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { RESOURCES } from "../../src/db/schema/levels.ts";
import { address, guarded, type World } from "../support/routes.ts";
import { call, furnished, join, keyFor } from "../support/world.ts";
import { LIMITLESS, sweep } from "./attacker.ts";

/** What nobody may see of an object that is hidden from them: each text, by what it is. */
const HIDDEN = {
	project: (home) => ({
		name: "A hidden project",
		of_export: "A hidden export",
		of_config: "A hidden config",
		export: home.batch_export,
		run: home.run,
	}),
	batch_export: (home) => ({
		id: home.batch_export,
		name: "A hidden export",
		run: home.run,
		backfill: home.backfill,
	}),
	plugin: () => ({ name: "A hidden plugin", config: "A hidden config" }),
	webhook: ({ webhook, delivery }) => ({ webhook, delivery }),
	domain: ({ domain }) => ({ domain }),
} satisfies Record<string, (home: World) => Record<string, string>>;

type Kind = keyof typeof HIDDEN;

const KINDS = ["project", "batch_export", "plugin", "webhook", "domain"] as const satisfies Kind[];

/** The id of the object in access controls. */
const idOf = (home: World, kind: Kind) => String(kind === "plugin" ? home.destination : home[kind]);

/** Names that no other text contains. */
async function rename(home: World) {
	const set = (table: string, name: string, where: string, id: string | number) =>
		env.DB.prepare(`update ${table} set name = ? where ${where} = ?`).bind(name, id).run();
	await set("projects", "A hidden project", "id", home.project);
	await set("batch_exports", "A hidden export", "uuid", home.batch_export);
	await set("plugins", "A hidden plugin", "id", home.destination);
	await set("plugin_configs", "A hidden config", "id", home.config);
	await env.DB.prepare("update plugin_configs set plugin_id = ? where id = ?")
		.bind(home.destination, home.config)
		.run();
}

/** Creates a member of level 1 with the access to everything but one object, and the log. */
async function outsider(
	home: World,
	kind: Kind,
	{ access_level = "manager", isReviewer = true } = {},
) {
	const user = await join(home.id, 1);
	const give = async (resource: string, body: object) => {
		const given = { body: { resource, member: user.uuid, ...body } };
		expect((await home.here("POST", "/access_controls", given)).status).toBe(201);
	};
	const nothing = ["activity_log", ...(isReviewer ? [] : ["organization_member"])];
	for (const resource of RESOURCES)
		await give(resource, { access_level: nothing.includes(resource) ? "none" : access_level });
	await give(kind, { resource_id: idOf(home, kind), access_level: "none" });
	return keyFor(user.id);
}

/** Where those who may review access see the ids of what it is about, without names. */
const REVIEWS = /\/(?:access|access_controls|identities)$/;

test.each(KINDS.flatMap((kind) => [true, false].map((isReviewer) => ({ kind, isReviewer }))))(
	"no operation tells somebody anything of a $kind hidden from them, who reviews access: $isReviewer",
	async ({ kind, isReviewer }) => {
		const home = await furnished();
		await rename(home);
		const secrets = Object.entries(HIDDEN[kind](home));
		const seen = new Set((await sweep(home, home.key, secrets)).map(({ what }) => what));
		expect(seen).toEqual(new Set(secrets.map(([what]) => what)));
		const key = await outsider(home, kind, { access_level: "viewer", isReviewer });
		const told = (await sweep(home, key, secrets)).filter(
			({ where }) => !(isReviewer && REVIEWS.test(where)),
		);
		expect(told.map(({ what, where }) => `${what}: ${where}`)).toEqual([]);
	},
);

test.each(KINDS)("no list counts a %s hidden from the caller", async (kind) => {
	const home = await furnished();
	const key = await outsider(home, kind, { access_level: "viewer" });
	const wrong: unknown[] = [];
	let lists = 0;
	for (const { path } of guarded.filter(({ method }) => method === "GET")) {
		const where = address(path, home);
		const { status, body } = await call("GET", where, { key, env: LIMITLESS });
		if (status !== 200 || !Array.isArray(body?.results) || body.next) continue;
		lists += 1;
		if (body.count !== undefined && body.count !== body.results.length)
			wrong.push({ where, count: body.count, results: body.results.length });
	}
	expect(wrong).toEqual([]);
	expect(lists).toBeGreaterThan(15);
});

/** Ids of objects that don't exist, like those of the world. */
const nothing = (home: World, kind: Kind): World => ({
	...home,
	...(kind === "plugin"
		? {
				destination: 999_999_999,
				frontend: 999_999_999,
				importer: 999_999_999,
				config: 999_999_999,
			}
		: { [kind]: kind === "project" ? 999_999_999 : v7() }),
});

test.each(KINDS)("all operations on a hidden %s answer as if it didn't exist", async (kind) => {
	const home = await furnished();
	const key = await outsider(home, kind);
	await rename(home);
	const missing = nothing(home, kind);
	const wrong: unknown[] = [];
	let tried = 0;
	for (const { method, path, body } of guarded) {
		const [here, there] = [address(path, home), address(path, missing)];
		// The world's other plugins aren't hidden.
		if (here === there || (kind === "plugin" && !/destinations|configs|plugins/.test(path)))
			continue;
		tried += 1;
		const ask = (where: string) =>
			call(method, where, { key, env: LIMITLESS, ...(body && { body: body(home) }) });
		const [hidden, unknown] = [await ask(here), await ask(there)];
		// Where level 8 is needed, nobody else is told anything.
		if (
			![403, 404].includes(hidden.status) ||
			JSON.stringify(hidden.body) !== JSON.stringify(unknown.body)
		)
			wrong.push({ method, path, hidden, unknown });
	}
	expect(wrong.map((one) => JSON.stringify(one))).toEqual([]);
	expect(tried).toBeGreaterThan(4);
});
