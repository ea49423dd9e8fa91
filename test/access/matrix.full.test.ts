import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { hasScope, scopes } from "../../src/access/scopes.ts";
import { app } from "../../src/app.ts";
import { ACCESS_LEVELS, type AccessLevel, RESOURCES } from "../../src/db/schema/levels.ts";
import { projectMembers } from "../../src/db/schema/people.ts";
import { markPreview } from "../../src/http/preview.ts";
import { assertDocumented } from "../support/contract.ts";
import { UNLIMITED } from "../support/mcp.ts";
import { address, type Guarded, guarded, type World } from "../support/routes.ts";
import { db, furnished, join, keyFor, serviceAccount } from "../support/world.ts";

/*
 * Who may do what, for every operation of the OpenAPI document: each level of the membership, each
 * access level of one's roles, each kind of key, with and without the scope. What is expected is
 * docs/access.md in a few lines, from what the document says about the operation. Changes are
 * previews (src/http/preview.ts), which end after the guard, so that all share a tenant. Where
 * access controls are about nothing, they change nothing, whatever else decides.
 */

const { REQUESTS } = UNLIMITED;
const LIMITLESS = { REQUESTS, AUTH_FAILURES: REQUESTS, SIGN_INS: REQUESTS };

const NAMES = ["none", "viewer", "editor", "manager"] as const satisfies AccessLevel[];

/** The levels of a caller: of the membership, and of that of the project. */
const LEVELS = [
	{ level: 1, inProject: 0 },
	{ level: 1, inProject: 8 },
	{ level: 8, inProject: 0 },
	{ level: 15, inProject: 0 },
];

type Level = (typeof LEVELS)[number];

/** The kinds of keys, with the columns of their rows. */
const KINDS = {
	personal: {},
	session: {
		session: { method: "mail" as const, connection: null, address: null, user_agent: null },
		expires_at: "2999-01-01T00:00:00.000Z",
	},
	app: { client_id: "https://notes.example/app", audience: "api" as const },
	service_account: {},
};

type Caller = Level & {
	access: AccessLevel;
	kind: keyof typeof KINDS;
	user_id: number;
	keys: Map<string, Promise<string>>;
};

let home: World;
const callers: Caller[] = [];

/** Gives everybody with the role this access to all resources. */
async function roleWith(access_level: AccessLevel) {
	const { body } = await home.here("POST", "/roles", { body: { name: `All ${access_level}` } });
	const give = (resource: string) =>
		home.here("POST", "/access_controls", { body: { resource, access_level, role: body.id } });
	for (const resource of RESOURCES) expect((await give(resource)).status).toBe(201);
	return (member: string) => home.here("POST", `/roles/${body.id}/members`, { body: { member } });
}

beforeAll(async () => {
	home = await furnished();
	for (const access of NAMES) {
		const give = await roleWith(access);
		for (const each of LEVELS) {
			const { level, inProject } = each;
			const user = await join(home.id, level);
			if (inProject)
				await db.insert(projectMembers).values({
					project_id: home.project,
					organization_id: home.organization_id,
					user_id: user.id,
					level: inProject,
				});
			expect((await give(user.uuid)).status).toBe(201);
			// The kind of the key is the same for all levels.
			const kinds = level === 15 || inProject ? [] : (["session", "app"] as const);
			for (const kind of ["personal", ...kinds] as const)
				callers.push({ ...each, access, kind, user_id: user.id, keys: new Map() });
			if (inProject || level === 15) continue;
			const account = await serviceAccount(home, { level });
			expect((await give(account.id)).status).toBe(201);
			const { user_id } = account;
			callers.push({ ...each, access, kind: "service_account", user_id, keys: new Map() });
		}
	}
});

/** Returns the caller's key that has only the scope, or all scopes but it. */
function keyOf({ kind, user_id, keys }: Caller, scope: string, isGranted: boolean) {
	const granted = isGranted ? [scope] : scopes.filter((other) => !hasScope([other], scope));
	const name = granted.join();
	const key = keys.get(name) ?? keyFor(user_id, { ...KINDS[kind], scopes: granted });
	keys.set(name, key);
	return key;
}

const OBJECTS = ["batch_export", "plugin", "webhook", "domain"];

/** Operations whose own rules require level 8 of members, before a body is read. */
const OWN_RULES = ["PATCH /api/organizations/:organization_id/members/:user__uuid"];

type Verdict = "allowed" | 403 | 404;

/** What docs/access.md says about a request with the scope. */
function expected({ method, path, access: needed }: Guarded, caller: Caller): Verdict {
	const { resource, access_level = "none" } = needed;
	if (OWN_RULES.includes(`${method} ${path}`) && caller.level < 8) return 403;
	// The organization isn't in the path, but in the body: the handler decides.
	if (method === "POST" && path === "/api/projects") return "allowed";
	const isInProject = /\/projects\/:(project_)?id/.test(path);
	const level = Math.max(caller.level, isInProject ? caller.inProject : 0);
	const has = ACCESS_LEVELS[caller.access];
	if (isInProject && level < 8 && has === 0) return 404;
	// The guard can't find what is deleted: the handler decides (test/deletions/access.full.test.ts).
	if (path.includes(":deleted_id")) return "allowed";
	if (level < (needed.level ?? 0)) {
		const isOpened =
			has >= ACCESS_LEVELS[access_level] &&
			has > 0 &&
			(access_level === "viewer" || resource === "webhook");
		if (!(isOpened && needed.level === 8 && resource)) return 403;
	}
	if (level >= 8 || !resource || access_level === "none") return "allowed";
	const isOfOne = OBJECTS.includes(resource) && /:(id|domain_id|plugin_config_id)\b/.test(path);
	if (has === 0 && isOfOne) return 404;
	const isList = !isOfOne && [...OBJECTS, "project"].includes(resource);
	if (isList && !isInProject && access_level === "viewer") return "allowed";
	if (isList && resource !== "project" && access_level === "viewer") return "allowed";
	return has >= ACCESS_LEVELS[access_level] ? "allowed" : 403;
}

async function send({ method, path, body }: Guarded, key: string) {
	const request = new Request(new URL(address(path, home), "https://tenantry.test"), {
		method,
		headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
		...(body && { body: JSON.stringify(body(home)) }),
	});
	if (method !== "GET") markPreview(request);
	const context = createExecutionContext();
	const response = await app.fetch(request, { ...env, ...LIMITLESS }, context);
	await waitOnExecutionContext(context);
	if (method === "GET") await assertDocumented(request, response);
	return { status: response.status, text: await response.text() };
}

const titleOf = ({ level, inProject, access, kind }: Caller) =>
	`${kind} level ${level}${inProject ? ` (${inProject} in the project)` : ""} ${access}`;

test.each(guarded)("$method $path", async (route) => {
	const { scope, method, fails, access } = route;
	const isControlled = access.resource !== undefined || access.level !== undefined;
	const wrong: string[] = [];
	const statuses = new Map<string, number>();
	for (const caller of callers) {
		const { status, text } = await send(route, await keyOf(caller, scope, true));
		const wanted = isControlled
			? expected(route, caller)
			: statuses.get(titleOf({ ...caller, access: "none" }));
		const isAllowed = method === "GET" ? status < 400 || status === fails : status === 204;
		const isRight = wanted === "allowed" ? isAllowed : status === (wanted ?? status);
		statuses.set(titleOf(caller), status);
		if (!isRight) wrong.push(`${titleOf(caller)}: ${status}, not ${wanted}: ${text}`);
		if (caller.access !== "manager") continue;
		const without = await send(route, await keyOf(caller, scope, false));
		if (without.status !== 403 || !without.text.includes(scope))
			wrong.push(`${titleOf(caller)} without the scope: ${without.status} ${without.text}`);
	}
	expect(wrong.join("\n")).toBe("");
});
