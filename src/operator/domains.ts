import { and, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type * as z from "zod";
import { retry } from "../access/retry.ts";
import { commit } from "../access/unit_of_work.ts";
import { whyIncomplete } from "../accounts/domains/connections.ts";
import { endSessions } from "../accounts/domains/enforcement.ts";
import { assertExists } from "../db/assertion.ts";
import { changes, isUnchanged } from "../db/changes.ts";
import { domains } from "../db/schema/domains.ts";
import { byOperator } from "./entries.ts";
import { OperatorError, required } from "./errors.ts";
import type { domain, domainEnforce } from "./shape.ts";

type Row = typeof domains.$inferSelect;

/** Changes how people of a domain have to sign in, in one transaction (docs/sign-on.md#enforcement). */
async function setEnforcement(
	env: Env,
	name: string,
	sso_enforcement: string,
	check: (row: Row) => void,
) {
	const db = drizzle(env.DB);
	const [found] = await db.select().from(domains).where(eq(domains.domain, name));
	const row = required(found, "domain with this name");
	check(row);
	const changed = changes(row, { sso_enforcement });
	const byId = and(eq(domains.organization_id, row.organization_id), eq(domains.id, row.id));
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
