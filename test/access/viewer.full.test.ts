import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { AUDITOR } from "../../src/db/schema/access.ts";
import { RESOURCES } from "../../src/db/schema/levels.ts";
import { address, guarded } from "../support/routes.ts";
import { call, furnished, join, keyFor } from "../support/world.ts";

/** What requests write although they are rejected, or about the caller's own account. */
const OWN = ["personal_api_keys", "personal_api_key_days", "idempotency_keys", "activity_log"];

/** Returns all rows of the database, by table. */
async function dump() {
	const { results } = await env.DB.prepare(
		"select name from sqlite_master where type = 'table' and name not like '%\\_cf\\_%' escape '\\' and name not like 'sqlite%' and name not like 'd1%'",
	).all<{ name: string }>();
	const names = results.map(({ name }) => name).filter((name) => !OWN.includes(name));
	const rows = await Promise.all(
		names.map(async (name) => [
			name,
			(await env.DB.prepare(`select * from ${name}`).all()).results,
		]),
	);
	return Object.fromEntries(rows);
}

/** The changes in an organization. */
const changes = guarded.filter(
	({ method, path }) =>
		method !== "GET" &&
		/^\/api\/(?:organizations\/:|projects)/.test(path) &&
		!path.includes("/two_factor"),
);

test.each(["viewer", "auditor"])(
	"a %s of level 1 with a full key who calls all operations changes nothing",
	async (kind) => {
		const home = await furnished();
		const user = await join(home.id, 1);
		const key = await keyFor(user.id);
		if (kind === "auditor")
			await home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: user.uuid } });
		else
			for (const resource of RESOURCES)
				await home.here("POST", "/access_controls", {
					body: { resource, access_level: "viewer", member: user.uuid },
				});
		const before = await dump();
		const allowed: string[] = [];
		for (const { method, path, body } of changes) {
			const { status } = await call(method, address(path, home), {
				key,
				...(body && { body: body(home) }),
			});
			if (status < 300) allowed.push(`${method} ${path}`);
		}
		// Without orders, it changes nothing.
		expect(allowed).toEqual(["PATCH /api/projects/:project_id/plugin_configs/rearrange"]);
		expect(await dump()).toEqual(before);
	},
);
