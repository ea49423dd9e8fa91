import { and, eq, or, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { hasAccess } from "../../access/key_access.ts";
import type { Tenant } from "../../access/tenant.ts";
import { allowsApp, visibleTo } from "../../access/visible.ts";
import { inList } from "../../db/client.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { doesNotExist, forbidden, invalid } from "../../http/errors.ts";
import type { Owner } from "./owner.ts";
import type { update } from "./shape.ts";

type Body = z.infer<typeof update>;

/** The access that a key gives. */
export type GivenAccess = Pick<
	typeof personalApiKeys.$inferSelect,
	"scopes" | "scoped_organizations" | "scoped_projects" | "allowed_ips" | "expires_at"
>;

/** The access of a key that is created from a body, or changed by it. */
export const accessGivenBy = (body: Body, before?: GivenAccess): GivenAccess => ({
	scopes: body.scopes ?? before?.scopes ?? [],
	scoped_organizations: body.scoped_organizations ?? before?.scoped_organizations ?? [],
	scoped_projects: body.scoped_projects ?? before?.scoped_projects ?? [],
	allowed_ips: body.allowed_ips ?? before?.allowed_ips ?? [],
	expires_at: body.expires_at === undefined ? (before?.expires_at ?? null) : body.expires_at,
});

/** @throws 403 unless the key in use has all the granted access, for at least as long */
export async function assertMayGive({ caller }: Tenant, granted: GivenAccess) {
	const { scoped_organizations: organizations, scoped_projects: projects, ...others } = granted;
	if (!(await hasAccess(caller, { ...others, organizations, projects })))
		throw forbidden("An API key can't give more access than it has itself.");
}

/** Selects the organizations and projects in the body's restrictions that the owner can see. */
export const restrictions = ({ db }: Tenant, { user_id }: Owner, body: Body) =>
	[
		db
			.select({ id: organizations.uuid })
			.from(members)
			.innerJoin(organizations, eq(organizations.id, members.organization_id))
			.where(
				and(
					eq(members.user_id, user_id),
					inList(organizations.uuid, body.scoped_organizations ?? []),
				),
			),
		db
			.select({ id: projects.id })
			.from(projects)
			.where(and(visibleTo(user_id), inList(projects.id, body.scoped_projects ?? []))),
	] as const;

/** @throws 400 for the first id that isn't in `visible` */
export function checkRestrictions<T>(attr: string, ids: T[] | undefined, visible: { id: T }[]) {
	const visibleIds = new Set(visible.map(({ id }) => id));
	const index = ids?.findIndex((id) => !visibleIds.has(id)) ?? -1;
	if (index >= 0) throw doesNotExist(`${attr}__${index}`, ids?.[index]);
}

/**
 * SQL condition on `organizations`: it blocks the caller's app, or the app that requests access.
 */
function isClosed({ key }: Tenant, asking: SQL | undefined) {
	const own = sql`(select own.client_id from personal_api_keys as own where own.id = ${key.id})`;
	return sql<boolean>`not (${and(allowsApp(own), asking && allowsApp(asking))})`;
}

/**
 * Selects the organizations that a key with these restrictions can access and that have rules for
 * it: its keys must expire (docs/keys.md#keys-that-must-expire), or it doesn't allow the app.
 * @param only JSON of the two lists of restrictions, as SQL
 * @param asking the `client_id` of the app that gets the key, if it is one's
 */
export function selectRules(
	tenant: Tenant,
	{ user_id }: Owner,
	only: { organizations?: SQL; projects?: SQL },
	asking?: SQL,
) {
	const { organizations: uuids = sql`'[]'`, projects: ids = sql`'[]'` } = only;
	const reaches = sql`(${uuids} = '[]' or ${organizations.uuid} in (select value from json_each(${uuids})))
    and (${ids} = '[]' or exists (
      select 1 from ${projects} where ${projects.organization_id} = ${organizations.id}
        and ${projects.id} in (select value from json_each(${ids}))))`;
	const isClosedTo = isClosed(tenant, asking);
	return tenant.db
		.select({
			id: organizations.id,
			name: organizations.name,
			keys_must_expire: organizations.keys_must_expire,
			is_closed: isClosedTo.mapWith(Boolean).as("is_closed"),
		})
		.from(members)
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(
			and(
				eq(members.user_id, user_id),
				or(eq(organizations.keys_must_expire, true), isClosedTo),
				reaches,
			),
		)
		.orderBy(members.organization_id);
}

type Rules = Awaited<ReturnType<typeof selectRules>>;

/** The restrictions in a body, as the parameter of `selectRules`. */
export const toSql = ({ scoped_organizations, scoped_projects }: Body) => ({
	...(scoped_organizations && { organizations: sql`${JSON.stringify(scoped_organizations)}` }),
	...(scoped_projects && { projects: sql`${JSON.stringify(scoped_projects)}` }),
});

/** The restrictions of a stored key, as the parameter of `selectRules`. */
export const storedRestrictions = (isKey: SQL | undefined) => ({
	organizations: sql`(select ${personalApiKeys.scoped_organizations} from ${personalApiKeys} where ${isKey})`,
	projects: sql`(select ${personalApiKeys.scoped_projects} from ${personalApiKeys} where ${isKey})`,
});

/**
 * SQL condition: no organization's rules for keys forbid the key. The parameters are those of
 * `isClosed`.
 */
export function isWithinRules(tenant: Tenant, owner: Owner, granted: GivenAccess, asking?: SQL) {
	const isApps = asking !== undefined || tenant.caller.client_id !== null;
	if (granted.expires_at !== null && !isApps) return sql`true`;
	const rules = selectRules(tenant, owner, toSql(granted), asking).as("rules");
	const isBroken = granted.expires_at === null ? sql`true` : sql`rules.is_closed`;
	return sql`not exists (select 1 from ${rules} where ${isBroken})`;
}

/**
 * @param attr the field with the expiry
 * @throws 400 if the key doesn't expire although an organization requires it, or an organization
 * doesn't allow the app
 */
export function checkRules(expires_at: string | null, rules: Rules, attr = "expires_at") {
	const closed = rules.find(({ is_closed }) => is_closed);
	if (closed)
		throw invalid(
			"scoped_organizations",
			`The organization "${closed.name}" doesn't allow this app. Choose other organizations.`,
		);
	const strict = rules.find(({ keys_must_expire }) => keys_must_expire);
	if (expires_at === null && strict)
		throw invalid(
			attr,
			`API keys that can reach the organization "${strict.name}" must expire: set ${attr}.`,
			"expiry_required",
		);
}
