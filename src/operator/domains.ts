import { and, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type * as z from "zod";
import { commit, retry } from "../access/unit_of_work.ts";
import { changes, isUnchanged } from "../db/changes.ts";
import { assertExists } from "../db/client.ts";
import { domains } from "../db/schema/organizations.ts";
import { now } from "../lib/time.ts";
import { whyIncomplete } from "../organizations/domains/connections.ts";
import { endSessions } from "../organizations/domains/enforcement.ts";
import { nextRecheck } from "../organizations/domains/recheck.ts";
import { byOperator, type domain, type domainEnforce, OperatorError, required } from "./shape.ts";

type Row = typeof domains.$inferSelect;

async function find(env: Env, name: string) {
	const db = drizzle(env.DB);
	const [found] = await db.select().from(domains).where(eq(domains.domain, name));
	const row = required(found, "domain with this name");
	const byId = and(eq(domains.organization_id, row.organization_id), eq(domains.id, row.id));
	return { db, row, byId };
}

/** Changes how people of a domain have to sign in, in one transaction (docs/sign-on.md#enforcement). */
async function setEnforcement(
	env: Env,
	name: string,
	sso_enforcement: string,
	check: (row: Row) => void,
) {
	const { db, row, byId } = await find(env, name);
	check(row);
	const changed = changes(row, { sso_enforcement });
	const isLifted = sso_enforcement === "";
	if (changed.length > 0)
		await commit(env, db, {
			checks: [assertExists(db, domains, isUnchanged(domains, row))],
			changes: [
				db.update(domains).set({ sso_enforcement }).where(byId),
				...(isLifted ? [] : [endSessions(db, row, sso_enforcement)]),
			],
			entries: [
				byOperator({
					scope: "Domain",
					activity: isLifted ? "enforcement_lifted" : "updated",
					item_id: row.id,
					name,
					changes: changed,
					organization: row.organization_id,
				}),
			],
		});
	return { domain: name, sso_enforcement };
}

/**
 * Enforces single sign-on, although nobody has tested it.
 * @throws OperatorError if the domain isn't verified, or its provider isn't set up
 */
export const enforce = (env: Env, { domain, sso }: z.infer<typeof domainEnforce>) =>
	retry(() =>
		setEnforcement(env, domain, sso, (row) => {
			const problem =
				row.verified_at === null ? "The domain isn't verified." : whyIncomplete(sso, row);
			if (problem) throw new OperatorError(problem);
		}),
	);

/** Lets people of a domain sign in in any way again. */
export const liftEnforcement = (env: Env, { domain: name }: z.infer<typeof domain>) =>
	retry(() => setEnforcement(env, name, "", () => {}));

/** Verifies a domain without its DNS record, such as one of a private network. */
export const verify = (env: Env, { domain: name }: z.infer<typeof domain>) =>
	retry(async () => {
		const { db, row, byId } = await find(env, name);
		const set = { verified_at: now(), recheck_at: nextRecheck(Date.now()) };
		if (row.verified_at === null)
			await commit(env, db, {
				checks: [assertExists(db, domains, isUnchanged(domains, row))],
				changes: [db.update(domains).set(set).where(byId)],
				entries: [
					byOperator({
						scope: "Domain",
						activity: "verified",
						item_id: row.id,
						name,
						organization: row.organization_id,
					}),
				],
			});
		return { domain: name, is_verified: true };
	});
