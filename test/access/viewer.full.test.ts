import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { AUDITOR } from "../../src/db/schema/access.ts";
import { RESOURCES } from "../../src/db/schema/levels.ts";
import { address, guarded, type World } from "../support/routes.ts";
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

/** The changes that aren't about the caller's own account, which is always the caller's. */
const changes = guarded.filter(
	({ method, path }) =>
		method !== "GET" &&
		!/^\/api\/(?:users|personal_api_keys|app_requests|device_requests)\b/.test(path) &&
		`${method} ${path}` !== "POST /api/organizations",
);

/** Creates a member of level 1 with this access to all resources, and a full key. */
async function attacker(home: World, kind: string, to = "member") {
	const user = await join(home.id, 1);
	if (kind === "auditor")
		await home.here("POST", `/roles/${AUDITOR}/members`, { body: { member: user.uuid } });
	else
		for (const resource of RESOURCES) {
			const member = to === "everyone" ? null : user.uuid;
			const body = { resource, access_level: kind, member };
			expect((await home.here("POST", "/access_controls", { body })).status).toBe(201);
		}
	return { ...user, key: await keyFor(user.id) };
}

/** Each operation is called once; the database limits nothing that isn't about access. */
const UNLIMITED = { limit: async () => ({ success: true }) };
const LIMITLESS = { REQUESTS: UNLIMITED, AUTH_FAILURES: UNLIMITED, SIGN_INS: UNLIMITED };

test.each(["none", "viewer", "auditor"])(
	"a %s of level 1 with a full key who calls all operations changes nothing",
	async (kind) => {
		const home = await furnished();
		const { key } = await attacker(home, kind);
		const before = await dump();
		const allowed: string[] = [];
		for (const { method, path, body } of changes) {
			const { status } = await call(method, address(path, home), {
				key,
				env: LIMITLESS,
				...(body && { body: body(home) }),
			});
			if (status < 300) allowed.push(`${method} ${path}`);
		}
		// Without orders, it changes nothing.
		const harmless = "PATCH /api/projects/:project_id/plugin_configs/rearrange";
		expect(allowed).toEqual(kind === "none" ? [] : [harmless]);
		expect(await dump()).toEqual(before);
	},
);

/** Reads everything with a key, and returns which of these texts the responses have, and where. */
async function sweep(home: World, key: string, secrets: [what: string, secret: string][]) {
	const seen: { what: string; where: string }[] = [];
	for (const { method, path } of guarded.filter(({ method }) => method === "GET"))
		for (const accept of ["application/json", "text/csv"]) {
			const where = address(path, home);
			const { body } = await call(method, where, { key, headers: { accept }, env: LIMITLESS });
			const text = JSON.stringify(body) ?? "";
			for (const [what, secret] of secrets) if (text.includes(secret)) seen.push({ what, where });
		}
	return seen;
}

test.each(["member", "everyone"])(
	"with access to nothing, given to the %s, all operations tell nothing of others",
	async (to) => {
		const home = await furnished();
		const name = "What nobody else may read";
		for (const table of [
			"batch_exports",
			"plugins",
			"plugin_configs",
			"service_accounts",
			"projects",
		])
			await env.DB.prepare(`update ${table} set name = ?`).bind(name).run();
		const { batch_export, run, backfill, webhook, delivery, domain, invite, account } = home;
		const { account_key, trusted_issuer, client, audit_stream, role, access_control, member } =
			home;
		const secrets = Object.entries({
			...{ batch_export, run, backfill, webhook, delivery, domain, invite, account, account_key },
			...{ trusted_issuer, client, audit_stream, role, access_control, member, name },
			owner: home.owner.email,
		});
		const everything = new Set((await sweep(home, home.key, secrets)).map(({ what }) => what));
		expect(everything).toEqual(new Set(secrets.map(([what]) => what)));
		const { key } = await attacker(home, "none", to);
		expect(await sweep(home, key, secrets)).toEqual([]);
	},
);
