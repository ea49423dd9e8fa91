import { and, eq } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { families, publicRoutes } from "../../src/app.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { loadRoutes } from "../../src/mount.ts";
import { address, guarded, type World } from "../support/routes.ts";
import { db, furnished } from "../support/world.ts";

/** The scopes of entries in the activity log that differ from the name in the path. */
const SCOPES = {
	"/pipeline_": "Plugin",
	"/service_accounts/:service_account_id/keys": "ServiceAccountKey",
	"/projects/:project_id/members": "ProjectMember",
	"/roles/:id/members": "RoleMember",
	"/identities/": "Identity",
	"/members/:user__uuid/keys/": "PersonalApiKey",
	"/scim/tokens/": "ScimToken",
};

function scopeOf(path: string) {
	const [, scope] = Object.entries(SCOPES).find(([part]) => path.includes(part)) ?? [];
	const [, name = ""] = /\/(\w+)s\/:\w+$/.exec(path) ?? [];
	return scope ?? name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Each kind of object that can be deleted: its path, and the scope of its entries. Accounts, which
 * only their own keys can delete, have tests of their own (test/sign_in/erasure).
 */
export const objects = guarded
	.filter(({ method, path, fails }) => method === "DELETE" && !fails && /:\w+$/.test(path))
	.map(({ path }) => ({ path, scope: scopeOf(path) }));

type Objects = typeof objects;

/** The entries of the owner with this activity in the log. */
export const entriesOf = ({ owner }: World, activity: string) =>
	db
		.select()
		.from(activityLog)
		.where(and(eq(activityLog.user_id, owner.id), eq(activityLog.activity, activity)));

/** Tests that parallel DELETEs delete once. */
export function testParallelDeletes(tested: Objects, times: number) {
	// The runtime cancels requests that wait for a module which another request loads from the test
	// server. Deployed modules are in the worker.
	beforeAll(async () => {
		await Promise.all([...families, ...publicRoutes].map(loadRoutes));
	});

	test.each(tested)(
		`${times} parallel DELETEs of $path delete it once: one 204, the others 404, one entry in the activity log`,
		async ({ path, scope }) => {
			const home = await furnished();
			const answers = await Promise.all(
				Array.from({ length: times }, () => home.ask("DELETE", address(path, home))),
			);
			const statuses = answers.map(({ status }) => status).sort();
			expect(statuses).toEqual([204, ...Array(times - 1).fill(404)]);
			const detail = scope === "Project" ? "Project not found." : "Not found.";
			for (const { status, body } of answers)
				if (status === 404) expect(body).toMatchObject({ code: "not_found", detail });
			const entries = await entriesOf(home, scope === "OauthGrant" ? "revoked" : "deleted");
			expect(entries.map(({ scope }) => scope)).toEqual([scope]);
		},
	);
}
