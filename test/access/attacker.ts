/** A member of level 1 who calls all operations, and what they see and change. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { AUDITOR } from "../../src/db/schema/access.ts";
import { RESOURCES } from "../../src/db/schema/levels.ts";
import { address, guarded, type World } from "../support/routes.ts";
import { call, join, keyFor } from "../support/world.ts";

/** What requests write although they are rejected, or about the caller's own account. */
const OWN = ["personal_api_keys", "personal_api_key_days", "idempotency_keys", "activity_log"];

/** Returns all rows of the database, by table. */
export async function dump() {
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
export const changes = guarded.filter(
	({ method, path }) =>
		method !== "GET" &&
		!/^\/api\/(?:users|personal_api_keys|app_requests|device_requests)\b/.test(path) &&
		`${method} ${path}` !== "POST /api/organizations",
);

/** Each operation is called once; the database limits nothing that isn't about access. */
const UNLIMITED = { limit: async () => ({ success: true }) };
export const LIMITLESS = { REQUESTS: UNLIMITED, AUTH_FAILURES: UNLIMITED, SIGN_INS: UNLIMITED };

/** Creates a member of level 1 with this access to all resources, and a full key. */
export async function attacker(home: World, kind: string, to = "member") {
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

/** Reads everything with a key, and returns which of these texts the responses have, and where. */
export async function sweep(home: World, key: string, secrets: [what: string, secret: string][]) {
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
