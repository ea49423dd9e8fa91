import { describe, expect, test } from "vitest";
import { AUDITOR } from "../../src/db/schema/access.ts";
import { replayed } from "../http/retries.ts";
import type { World } from "../support/routes.ts";
import { call, furnished, join, keyFor } from "../support/world.ts";

const EXPORT = { name: "Mine", interval: "hour", destination: { type: "NoOp", config: {} } };

type Member = Awaited<ReturnType<typeof join>>;

const give = async (home: World, body: object) =>
	expect((await home.here("POST", "/access_controls", { body })).status).toBe(201);

const removed = async (home: World, { uuid }: Member) =>
	expect((await home.here("DELETE", `/members/${uuid}`)).status).toBe(204);

const closed = async (home: World) => {
	const body = { access_control: true };
	expect((await home.ask("PATCH", `/api/projects/${home.project}`, { body })).status).toBe(200);
};

type Case = {
	level?: number;
	path: (home: World) => string;
	body?: (home: World) => object;
	/** @param id that of what the request created */
	lose: (home: World, member: Member, id: string) => Promise<unknown>;
	status: number;
};

const inOrganization = ({ id }: World) => `/api/organizations/${id}/batch_exports`;
const inProject = ({ project }: World) => `/api/projects/${project}/batch_exports`;

const CASES: Record<string, Case> = {
	"of whoever may only view exports": {
		path: inOrganization,
		lose: (home, { uuid }) =>
			give(home, { resource: "batch_export", access_level: "viewer", member: uuid }),
		status: 403,
	},
	"of an auditor": {
		path: inProject,
		lose: (home, { uuid }) =>
			home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: uuid } }),
		status: 403,
	},
	"of whoever may not view what it made": {
		path: inOrganization,
		lose: (home, { uuid }, id) =>
			give(home, {
				...{ resource: "batch_export", resource_id: id },
				...{ access_level: "none", member: uuid },
			}),
		status: 400,
	},
	"of whoever may not view the plugin of its config": {
		path: ({ project }) => `/api/projects/${project}/plugin_configs`,
		body: ({ destination }) => ({ plugin: destination, order: 1 }),
		lose: (home, { uuid }) =>
			give(home, {
				...{ resource: "plugin", resource_id: String(home.destination) },
				...{ access_level: "none", member: uuid },
			}),
		status: 400,
	},
	"if its project was made private": { path: inOrganization, lose: closed, status: 400 },
	"if the project in its path was made private": { path: inProject, lose: closed, status: 403 },
	"of whoever left the organization in its path": {
		path: inOrganization,
		lose: removed,
		status: 403,
	},
	"of whoever left the organization in its body": {
		level: 8,
		path: () => "/api/projects",
		body: ({ id }) => ({ name: "Secret", organization: id }),
		lose: removed,
		status: 400,
	},
};

describe("a stored response isn't repeated", () => {
	test.each(Object.entries(CASES))("%s", async (_, { level = 1, path, body, lose, status }) => {
		const home = await furnished();
		const member = await join(home.id, level);
		// One that isn't limited to the organization, so that it outlives the membership.
		const key = await keyFor(member.id);
		const send = () =>
			call("POST", path(home), {
				key,
				body: body?.(home) ?? EXPORT,
				headers: { "idempotency-key": "once" },
			});
		const first = await send();
		expect(first.status).toBe(201);
		expect((await replayed(send)).body).toEqual(first.body);
		await lose(home, member, String(first.body.id));
		const last = await send();
		expect([last.status, last.headers.get("idempotency-replayed")]).toEqual([status, null]);
		if (status === 400) expect(last.body.code).toBe("idempotency_key_reused");
		expect(JSON.stringify(last.body)).not.toContain(String(first.body.name));
	});
});

test("whoever may not view an object any more gets no 304 for it, and no ETag", async () => {
	const home = await furnished();
	const { id, uuid } = await join(home.id, 1);
	const key = await keyFor(id);
	const path = `${inOrganization(home)}/${home.batch_export}`;
	for (const where of [path, inOrganization(home)]) {
		const seen = await call("GET", where, { key });
		const headers = { "if-none-match": seen.headers.get("etag") ?? "" };
		expect((await call("GET", where, { key, headers })).status).toBe(304);
	}
	const { headers: before } = await call("GET", path, { key });
	await give(home, {
		...{ resource: "batch_export", resource_id: home.batch_export },
		...{ access_level: "none", member: uuid },
	});
	const headers = { "if-none-match": before.get("etag") ?? "" };
	const after = await call("GET", path, { key, headers });
	expect([after.status, after.headers.get("etag")]).toEqual([404, null]);
	const conditional = {
		key,
		body: { name: "Mine" },
		headers: { "if-match": headers["if-none-match"] },
	};
	expect((await call("PATCH", path, conditional)).status).toBe(404);
});
