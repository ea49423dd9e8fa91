import { and, eq, isNotNull, lte } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { commitIfCurrent } from "../../access/unit_of_work.ts";
import { assertExists, type Database } from "../../db/client.ts";
import { bySystem } from "../../db/record.ts";
import { domains } from "../../db/schema/organizations.ts";
import { logErrors } from "../../lib/background.ts";
import { DAY_MS, HOUR_MS, iso } from "../../lib/time.ts";
import { lookUpChallenge } from "./ownership.ts";

/** How often the challenge of a verified domain is looked up. */
const INTERVAL_MS = DAY_MS;

/** How long to wait after the resolver failed, or a lookup didn't finish. */
const RETRY_MS = HOUR_MS;

/** After how many lookups in a row without the challenge admins are notified. */
const MAX_FAILURES = 3;

/** How many domains a tick looks up, in parallel. */
const BATCH_SIZE = 20;

/** Returns when to look up a domain again that was looked up at `at`. */
export const nextRecheck = (at: number) => iso(at + INTERVAL_MS);

type Domain = typeof domains.$inferSelect;

/**
 * Looks up the challenges of verified domains that are due. A domain whose challenge is missing
 * stays verified: a mistake in the DNS must not change how people sign in. If three lookups in a
 * row, on three days, don't find it, an event is written (docs/organizations.md#domains).
 */
export async function recheckDue(env: Env, at: number) {
	const db = drizzle(env.DB);
	const due = await db
		.select({ id: domains.id })
		.from(domains)
		.where(and(isNotNull(domains.verified_at), lte(domains.recheck_at, iso(at))))
		.orderBy(domains.recheck_at)
		.limit(BATCH_SIZE);
	await Promise.all(
		due.map(({ id }) => logErrors("look-ups of domains", recheck(env, db, id, at))),
	);
}

async function recheck(env: Env, db: Database, id: string, at: number) {
	// If two ticks run at the same time, only one of them takes the domain.
	const [domain] = await db
		.update(domains)
		.set({ recheck_at: iso(at + RETRY_MS) })
		.where(and(eq(domains.id, id), lte(domains.recheck_at, iso(at))))
		.returning();
	if (!domain) return;
	const missing = await lookUpChallenge(env, domain.domain, domain.verification_challenge);
	if (missing && !missing.isAnswer) return;
	await store(env, domain, at, missing?.error);
}

/** @param error why the challenge wasn't found; undefined if it was */
async function store(env: Env, domain: Domain, at: number, error: string | undefined) {
	const db = drizzle(env.DB);
	const { id, organization_id, recheck_at } = domain;
	const failed_rechecks = error === undefined ? 0 : domain.failed_rechecks + 1;
	const missing_since = error === undefined ? null : (domain.missing_since ?? iso(at));
	const isUnchanged = and(eq(domains.id, id), eq(domains.recheck_at, recheck_at));
	const event = bySystem({
		activity: "unverified",
		scope: "Domain",
		item_id: id,
		name: domain.domain,
		trigger: {
			missing_since,
			failed_rechecks,
			error,
			next_step:
				"Publish the domain's verification_challenge as a TXT record again, or delete the domain.",
		},
		organization: organization_id,
		project: null,
	});
	await commitIfCurrent(env, db, {
		checks: [assertExists(db, domains, isUnchanged)],
		changes: [
			db
				.update(domains)
				.set({ failed_rechecks, missing_since, recheck_at: nextRecheck(at) })
				.where(eq(domains.id, id)),
		],
		entries: failed_rechecks === MAX_FAILURES ? [event] : [],
	});
}
