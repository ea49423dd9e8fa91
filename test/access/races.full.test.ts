import { and, eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { AUDITOR, accessControls } from "../../src/db/schema/access.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { RESOURCES } from "../../src/db/schema/levels.ts";
import { organizations } from "../../src/db/schema/organizations.ts";
import { members } from "../../src/db/schema/people.ts";
import { address, type World } from "../support/routes.ts";
import { call, db, furnished, join, keyFor, racing } from "../support/world.ts";
import { changes, dump, LIMITLESS } from "./attacker.ts";

/** Gives a member the same access to all resources. */
async function giveAll({ here }: World, member: string, access_level: string) {
	for (const resource of RESOURCES)
		expect(
			(await here("POST", "/access_controls", { body: { resource, access_level, member } })).status,
		).toBe(201);
}

type Actor = Awaited<ReturnType<typeof join>>;

/** Who writes, and what is taken from them between the two round trips of a write. */
const LOSSES: Record<
	string,
	{ level: number; lose: (home: World, actor: Actor) => Promise<unknown> }
> = {
	"all access of a manager": {
		level: 1,
		lose: (home, { uuid }) => giveAll(home, uuid, "none"),
	},
	"what an auditor may not change": {
		level: 1,
		lose: async (home, { id, uuid }) => {
			const own = await db.delete(accessControls).where(eq(accessControls.user_id, id)).returning();
			expect(own).not.toEqual([]);
			const member = { body: { member: uuid } };
			await home.here("POST", `/roles/${AUDITOR}/members`, member);
		},
	},
	"the level of an admin": {
		level: 8,
		lose: async (home, { uuid }) => {
			await giveAll(home, uuid, "none");
			const body = { level: 1 };
			expect((await home.here("PATCH", `/members/${uuid}`, { body })).status).toBe(200);
		},
	},
};

/**
 * Sends a change, during which `lose` takes something from the sender. Returns the status and the
 * tables that changed after that; null if the request had no second round trip, so wrote nothing.
 */
async function raceWith(
	home: World,
	{ method, path, body }: (typeof changes)[number],
	{ key, lose }: { key: string; lose: () => Promise<unknown> },
) {
	let before: Awaited<ReturnType<typeof dump>> | undefined;
	const env = racing(async () => {
		await lose();
		before = await dump();
	});
	const { status } = await call(method, address(path, home), {
		key,
		env: { ...LIMITLESS, ...env },
		...(body && { body: body(home) }),
	});
	if (!before) return null;
	const after = await dump();
	const changed = Object.keys(after).filter(
		(name) => JSON.stringify(after[name]) !== JSON.stringify(before?.[name]),
	);
	return { status, changed };
}

// The members of a private project lose nothing by it.
const PRIVATE = ["batch_exports", "plugin_configs", "events"];

test.each(Object.entries(LOSSES))(
	"no write of any operation in flight survives the loss of %s",
	async (_, { level, lose }) => {
		const raced: string[] = [];
		const wrong: unknown[] = [];
		for (const change of changes) {
			const home = await furnished();
			const actor = await join(home.id, level);
			const key = await keyFor(actor.id);
			if (level === 1) await giveAll(home, actor.uuid, "manager");
			const result = await raceWith(home, change, { key, lose: () => lose(home, actor) });
			if (!result) continue;
			const title = `${change.method} ${change.path}`;
			raced.push(title);
			if (result.status < 400 || result.changed.length > 0) wrong.push({ title, ...result });
		}
		expect(wrong).toEqual([]);
		expect(raced.length).toBeGreaterThan(level === 8 ? 60 : 30);
	},
);

test("no write of any operation in flight survives that its project becomes private", async () => {
	const raced: string[] = [];
	const wrong: unknown[] = [];
	const within = changes.filter(({ path }) => PRIVATE.some((name) => path.includes(`/${name}`)));
	for (const isControlled of [false, true])
		for (const change of within) {
			const { method, path } = change;
			// Without the project in the path, access controls also decide about it.
			if (isControlled && !/organization_id\/batch_exports/.test(path)) continue;
			const home = await furnished();
			const actor = await join(home.id, 1);
			const key = await keyFor(actor.id);
			if (isControlled)
				await home.here("POST", "/access_controls", {
					body: { resource: "webhook", access_level: "none" },
				});
			const lose = async () => {
				const settings = { body: { access_control: true } };
				const project = `/api/projects/${home.project}`;
				expect((await home.ask("PATCH", project, settings)).status).toBe(200);
			};
			const result = await raceWith(home, change, { key, lose });
			if (!result) continue;
			raced.push(`${method} ${path}`);
			// A test of a destination reads once more, and writes nothing.
			const isAccepted = result.status < 400 && !path.endsWith("/test");
			if (isAccepted || result.changed.length > 0)
				wrong.push({ method, path, isControlled, ...result });
		}
	expect(wrong).toEqual([]);
	expect(raced.length).toBeGreaterThan(40);
});

/** Several kinds of writes, each of which is accepted any number of times. */
const WRITES: ((home: World, n: number) => [method: string, path: string, body: unknown])[] = [
	(home, n) => [
		"PATCH",
		`/api/organizations/${home.id}/batch_exports/${home.batch_export}`,
		{ name: `Export ${n}` },
	],
	(home, n) => [
		"POST",
		`/api/projects/${home.project}/batch_exports`,
		{ name: `New ${n}`, interval: "hour", destination: { type: "NoOp", config: {} } },
	],
	(home, n) => [
		"PATCH",
		`/api/projects/${home.project}/plugin_configs/${home.config}`,
		{ name: `Config ${n}` },
	],
	(home, n) => [
		"POST",
		`/api/projects/${home.project}/plugin_configs`,
		{ plugin: home.destination, order: n },
	],
	(home, n) => [
		"POST",
		`/api/organizations/${home.id}/batch_exports/${home.batch_export}/${n % 2 ? "pause" : "unpause"}`,
		{},
	],
	(home, n) => [
		"PATCH",
		`/api/organizations/${home.id}/webhooks/${home.webhook}`,
		{ description: `Webhook ${n}` },
	],
	(home) => ["POST", `/api/organizations/${home.id}/pipeline_destinations`, { name: "New" }],
];

const LANES = 14;

describe("of 200 writes in parallel, none is accepted after a change of access", () => {
	test.each([
		["of a member", (member: string) => ({ member })],
		["of everyone", () => ({})],
	])("%s; the next are when it is given again", async (_, of) => {
		const home = await furnished();
		const ada = await join(home.id, 1);
		const key = await keyFor(ada.id);
		await home.here("POST", "/access_controls", {
			body: { resource: "webhook", access_level: "editor", member: ada.uuid },
		});
		const statuses: number[] = [];
		const accepted = () => statuses.filter((status) => status < 300).length;
		let next = 0;
		let isOver = false;
		const write = async () => {
			const n = next++;
			const [method, path, body] = WRITES[n % WRITES.length]?.(home, n) ?? ["GET", "/", {}];
			return (await call(method, path, { key, body, env: LIMITLESS })).status;
		};
		const lane = async () => {
			while (next < 200 || !isOver) statuses.push(await write());
		};
		const give = (access_level: string) =>
			Promise.all(
				["batch_export", "plugin", "webhook"].map((resource) =>
					home.here("POST", "/access_controls", {
						body: {
							resource,
							access_level,
							...of(ada.uuid),
							...(resource === "webhook" && { member: ada.uuid }),
						},
					}),
				),
			);
		const taking = (async () => {
			while (accepted() < 20) await new Promise((resolve) => setTimeout(resolve, 1));
			const given = await give("viewer");
			isOver = true;
			return given;
		})();
		await Promise.all([taking, ...Array.from({ length: LANES }, lane)]);
		for (const { status } of await taking) expect(status).toBe(201);
		const log = await db
			.select()
			.from(activityLog)
			.where(eq(activityLog.organization_id, home.organization_id))
			.orderBy(activityLog.position);
		const positionOf = (resource: string) =>
			log.findLast(({ scope, name }) => scope === "AccessControl" && name === resource)?.position ??
			0;
		const LATEST = {
			BatchExport: positionOf("batch_export"),
			PluginConfig: positionOf("plugin"),
			Plugin: positionOf("plugin"),
			Webhook: positionOf("webhook"),
		};
		const hers = log.filter(({ user_id }) => user_id === ada.id);
		expect(hers.length).toBeGreaterThan(10);
		const late = hers.filter(
			({ scope, position }) =>
				position > (Object.entries(LATEST).find(([s]) => s === scope)?.[1] ?? 0),
		);
		expect(late).toEqual([]);
		expect(statuses.filter((status) => status === 403).length).toBeGreaterThan(10);
		expect(new Set(statuses)).toEqual(
			new Set(statuses.filter((status) => [200, 201, 403, 409].includes(status))),
		);
		for (const { status } of await give("editor")) expect(status).toBe(201);
		expect(await write()).toBeLessThan(300);
	});
});

test("twenty parallel changes of one, of every kind, leave one, and everybody's access follows from it", async () => {
	const home = await furnished();
	const ada = await join(home.id, 1);
	const levels = ["none", "viewer", "editor", "manager"];
	for (const of of [{}, { member: ada.uuid }, { role: home.role }]) {
		const body = (i: number) => ({ resource: "plugin", access_level: levels[i % 4], ...of });
		const { body: first } = await home.here("POST", "/access_controls", { body: body(0) });
		const path = `/access_controls/${first.id}`;
		const answers = await Promise.all(
			Array.from({ length: 20 }, (_, i) => {
				const { access_level } = body(i);
				if (i % 5 === 1) return home.here("PATCH", path, { body: { access_level } });
				if (i % 5 === 2) return home.here("DELETE", path);
				if (i % 5 === 3)
					return home.here(
						i % 2 ? "POST" : "DELETE",
						`/roles/${home.role}/members${i % 2 ? "" : `/${ada.uuid}`}`,
						{
							...(i % 2 && { body: { member: ada.uuid } }),
						},
					);
				return home.here("POST", "/access_controls", { body: body(i) });
			}),
		);
		expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
		await home.here("POST", "/access_controls", { body: body(3) });
	}
	const rows = await db
		.select()
		.from(accessControls)
		.where(
			and(
				eq(accessControls.organization_id, home.organization_id),
				eq(accessControls.resource, "plugin"),
			),
		);
	expect(rows.map(({ access_level }) => access_level)).toEqual([4, 4, 4]);
	const [everyone] = await db
		.select({ access: organizations.access })
		.from(organizations)
		.where(eq(organizations.id, home.organization_id));
	expect(JSON.parse(everyone?.access ?? "")).toEqual({ plugin: 4 });
	const theirs = await db
		.select({ access: members.access, user_id: members.user_id })
		.from(members)
		.where(
			and(eq(members.organization_id, home.organization_id), sql`${members.access} is not null`),
		);
	const hers = theirs.find(({ user_id }) => user_id === ada.id);
	expect(JSON.parse(hers?.access ?? "")).toMatchObject({ plugin: 4 });
});
