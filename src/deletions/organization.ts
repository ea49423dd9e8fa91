/**
 * Restoring an organization with a link that its owners were mailed
 * (docs/organizations.md#restoring-an-organization).
 */
import { and, eq, gt, inArray, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import { keptSince } from "../access/deletions.ts";
import { keptBy } from "../access/kept.ts";
import { commit, retry } from "../access/unit_of_work.ts";
import { connect } from "../db/bookmark.ts";
import { assertExists, assertThat, type Database, runBatch } from "../db/client.ts";
import { auditStreams } from "../db/schema/audit_streams.ts";
import { deletions, restoreLinks, storedValue } from "../db/schema/deletions.ts";
import { isActivePerson, serviceAccounts, users } from "../db/schema/people.ts";
import { NO_LEASE } from "../delivery/lease.ts";
import type { App } from "../env.ts";
import { conflict, notFound } from "../http/errors.ts";
import { countFailure } from "../keys/addresses.ts";
import { digest } from "../keys/keys.ts";
import { now } from "../lib/time.ts";
import { candidates, freeSlug } from "../organizations/organizations/queries.ts";
import { restoreExports, selectExports } from "./exports.ts";
import { catchUp, forget, type Missing, missing, nameMissing, selectMissing } from "./restore.ts";
import { insertRows, type Restoring } from "./rows.ts";

/** SQL condition on `restore_links`: the owner who got it can still sign in. */
const mayRestore = sql`exists (select 1 from ${users} where ${users.id} = ${restoreLinks.user_id} and ${isActivePerson})`;

/** SQL condition: another organization has the name now. */
const isTaken = {
	slug: (slug: SQL) => sql`exists (select 1 from organizations as o where o.slug = ${slug})`,
	domain: (name: SQL) => sql`exists (select 1 from domains as d where d.domain = ${name})`,
};

/** The names of a deleted organization, in `deleted_rows`. */
const slugOf = storedValue("organizations", "slug");
const domainOf = storedValue("domains", "domain");

/** SQL for FROM and WHERE: the kept rows of a deletion whose names are taken. */
const taken = (deletion: SQL) => sql`deletions join deleted_rows
	on deleted_rows.deletion_id = deletions.id and deleted_rows."table" in ('organizations', 'domains')
	where ${deletion} and iif(deleted_rows."table" = 'domains', ${isTaken.domain(domainOf)}, ${isTaken.slug(slugOf)})`;

const selectTaken = (db: Database, deletion: SQL) =>
	db
		.select({
			slug: sql<string | null>`slug`.as("slug"),
			domain: sql<string | null>`domain`.as("domain"),
		})
		.from(
			sql`(select iif("table" = 'organizations', ${slugOf}, null) as slug,
				iif("table" = 'domains', ${domainOf}, null) as domain from ${taken(deletion)})`,
		);

/**
 * Returns the organization that a link restores, and what can't be restored of it, in one round trip.
 * @throws 404 if the link doesn't work any more, 429 after too many unknown links
 */
export async function findRestoration(c: Context<App>, token: string) {
	const { db } = connect(c, "first-primary");
	const isLink = eq(restoreLinks.token_hash, await digest(token));
	const ofLink = sql`deletions.id = (select deletion_id from restore_links where ${isLink})`;
	const found = await runBatch(db, {
		deletions: db
			.select({
				id: deletions.id,
				organization_id: deletions.organization_id,
				item_id: deletions.item_id,
				name: deletions.name,
				deleted_at: deletions.deleted_at,
				columns: deletions.columns,
				user_id: restoreLinks.user_id,
			})
			.from(restoreLinks)
			.innerJoin(deletions, eq(deletions.id, restoreLinks.deletion_id))
			.where(and(isLink, mayRestore, gt(deletions.deleted_at, keptSince(c.env)))),
		missing: selectMissing(db, ofLink),
		taken: selectTaken(db, ofLink),
		exports: selectExports(db, sql`(select -deletions.id from deletions where ${ofLink})`),
	});
	const [deletion] = found.deletions;
	if (!deletion) throw await countFailure(c, notFound());
	return { ...found, db, isLink, deletion, obstacles: obstaclesOf(found) };
}

/** Says what stands in the way, and what happens to it in a partial restoration. */
const obstaclesOf = ({
	taken,
	missing,
}: {
	taken: Awaited<ReturnType<typeof selectTaken>>;
	missing: Missing;
}) => [
	...taken.map(({ slug, domain }) =>
		slug === null
			? `The domain ${domain} belongs to another organization now. It isn't restored.`
			: `The slug ${slug} belongs to another organization now. Yours gets another one.`,
	),
	...nameMissing(missing).map((name) => `Plugin configs of ${name} aren't restored.`),
];

/** How rows differ from what was deleted. */
const restoringOf = (name: string): Record<string, Restoring> => {
	const isStillThere = (user_id: SQL) =>
		sql`exists (select 1 from users as u where u.id = ${user_id} and u.email not like '%@deleted.invalid')`;
	const hasDomain = (id: SQL) => sql`exists (select 1 from domains as d where d.id = ${id})`;
	return {
		// `members_insert` counts.
		organizations: (value) => ({
			values: {
				active_members: sql`0`,
				invites: sql`0`,
				slug: sql`iif(${isTaken.slug(value("slug"))}, ${freeSlug(candidates(name))}, ${value("slug")})`,
			},
		}),
		// `members_insert` corrects it.
		members: (value) => ({
			values: { is_active: sql`true` },
			condition: isStillThere(value("user_id")),
		}),
		domains: (value) => ({
			values: {
				// Its DNS record may be gone.
				recheck_at: sql`''`,
				break_glass: sql`(select json_group_array(value) from json_each(${value("break_glass")})
					where value in (select m.user_id from members as m where m.organization_id = ${value("organization_id")}))`,
			},
			condition: sql`not ${isTaken.domain(value("domain"))}`,
		}),
		access_controls: (value) => ({
			condition: sql`(${value("resource")} <> 'domain' or ${value("resource_id")} = '' or ${hasDomain(value("resource_id"))})`,
		}),
		scim_tokens: (value) => ({ condition: hasDomain(value("domain_id")) }),
		scim_groups: (value) => ({ condition: hasDomain(value("domain_id")) }),
		scim_users: (value) => ({
			condition: sql`${hasDomain(value("domain_id"))} and ${isStillThere(value("user_id"))}`,
		}),
		scim_group_members: (value) => ({
			condition: sql`${hasDomain(value("domain_id"))} and ${isStillThere(value("user_id"))}`,
		}),
	};
};

/** The statements that bring what isn't in the kept rows back to life. */
const revive = (db: Database, organization: SQL<number>) => [
	db
		.update(users)
		.set({ is_active: true })
		.where(
			inArray(
				users.id,
				db
					.select({ user_id: serviceAccounts.user_id })
					.from(serviceAccounts)
					.where(eq(serviceAccounts.organization_id, organization)),
			),
		),
	db
		.update(auditStreams)
		.set({
			...NO_LEASE,
			// A worker that still delivers its last events must not end it.
			lease: sql`${auditStreams.lease} + 1`,
			organization_deleted_at: null,
			next_attempt_at: sql`iif(${auditStreams.enabled}, ${now()}, null)`,
		})
		.where(eq(auditStreams.organization_id, organization)),
];

/**
 * Restores an organization with its link, which then no longer works, nor do those of other owners.
 * @param partial whether to do so without what stands in the way
 * @throws 409 that names it otherwise, and the errors of `findRestoration`
 */
export const restoreOrganization = (c: Context<App>, token: string, partial: boolean) =>
	retry(async () => {
		const { db, isLink, deletion, obstacles, ...found } = await findRestoration(c, token);
		if (obstacles.length > 0 && !partial) throw conflict(obstacles.join(" "));
		const { id, item_id, name, organization_id, user_id } = deletion;
		const [at, organization] = [now(), sql<number>`cast(${organization_id} as integer)`];
		const isThis = eq(deletions.id, id);
		const exports = restoreExports(db, {
			deletion_id: id,
			rows: found.exports,
			at: Date.parse(at),
		});
		const restoring = restoringOf(name);
		const { tables } = keptBy("organization", { item_id, row: organization, organization });
		const count = (rows: SQL) => sql`(select count(*) from ${rows})`;
		await commit(
			c.env,
			db,
			{
				checks: [
					assertExists(db, restoreLinks, and(isLink, mayRestore)),
					// The removal for good changes the time.
					assertExists(db, deletions, and(isThis, eq(deletions.deleted_at, deletion.deleted_at))),
					assertThat(
						db,
						sql`${count(missing(isThis))} = ${found.missing.length} and ${count(taken(isThis))} = ${found.taken.length}`,
						"is_current",
					),
				],
				changes: [
					...tables.map((table) =>
						insertRows({ db, organization }, deletion, {
							...table,
							restoring: restoring[table.name],
						}),
					),
					...exports.statements,
					...catchUp({ db, at }, deletion),
					...revive(db, organization),
					...forget(db, id),
				],
				entries: [
					{
						...({ activity: "restored", scope: "Organization", item_id, name } as const),
						...{ user_id, organization: organization_id, project: null },
					},
				],
			},
			c,
		);
		return { id: item_id, name, hasGaps: exports.gaps.length > 0 };
	});
