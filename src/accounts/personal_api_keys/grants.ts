import { and, eq, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { hasAccess } from "../../access/access.ts";
import type { Tenant } from "../../access/tenant.ts";
import { visibleTo } from "../../access/visible.ts";
import { inList } from "../../db/client.ts";
import { members } from "../../db/schema/members.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { projects } from "../../db/schema/projects.ts";
import { doesNotExist, forbidden, invalid } from "../../http/errors.ts";
import type { Owner } from "./owner.ts";
import type { update } from "./shape.ts";

type Body = z.infer<typeof update>;

/** The access that a key gives. */
export type Grants = Pick<
	typeof personalApiKeys.$inferSelect,
	"scopes" | "scoped_organizations" | "scoped_projects" | "allowed_ips" | "expires_at"
>;

/** The access of a key that is created from a body, or changed by it. */
export const grantsOf = (body: Body, before?: Grants): Grants => ({
	scopes: body.scopes ?? before?.scopes ?? [],
	scoped_organizations: body.scoped_organizations ?? before?.scoped_organizations ?? [],
	scoped_projects: body.scoped_projects ?? before?.scoped_projects ?? [],
	allowed_ips: body.allowed_ips ?? before?.allowed_ips ?? [],
	expires_at: body.expires_at === undefined ? (before?.expires_at ?? null) : body.expires_at,
});

/** @throws 403 unless the key in use has all the granted access, for at least as long */
export async function assertMayGrant({ caller }: Tenant, granted: Grants) {
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
 * Selects an organization that a key with these restrictions can access and whose keys must expire
 * (docs/keys.md#keys-that-must-expire).
 * @param restrictions JSON of the two lists, as SQL
 */
export function selectStrict(
	{ db }: Tenant,
	{ user_id }: Owner,
	only: { organizations?: SQL; projects?: SQL },
) {
	const { organizations: uuids = sql`'[]'`, projects: ids = sql`'[]'` } = only;
	const reaches = sql`(${uuids} = '[]' or ${organizations.uuid} in (select value from json_each(${uuids})))
    and (${ids} = '[]' or exists (
      select 1 from ${projects} where ${projects.organization_id} = ${organizations.id}
        and ${projects.id} in (select value from json_each(${ids}))))`;
	return db
		.select({ name: organizations.name })
		.from(members)
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(and(eq(members.user_id, user_id), eq(organizations.keys_must_expire, true), reaches))
		.orderBy(members.organization_id)
		.limit(1);
}

/** The restrictions in a body, as the parameter of `selectStrict`. */
export const toSql = ({ scoped_organizations, scoped_projects }: Body) => ({
	...(scoped_organizations && { organizations: sql`${JSON.stringify(scoped_organizations)}` }),
	...(scoped_projects && { projects: sql`${JSON.stringify(scoped_projects)}` }),
});

/** The restrictions of a stored key, as the parameter of `selectStrict`. */
export const storedRestrictions = (isKey: SQL | undefined) => ({
	organizations: sql`(select ${personalApiKeys.scoped_organizations} from ${personalApiKeys} where ${isKey})`,
	projects: sql`(select ${personalApiKeys.scoped_projects} from ${personalApiKeys} where ${isKey})`,
});

/** SQL condition: the key expires, or no organization requires that it does. */
export const mayLast = (tenant: Tenant, owner: Owner, granted: Grants) =>
	granted.expires_at === null
		? sql`not exists ${selectStrict(tenant, owner, toSql(granted))}`
		: sql`true`;

/**
 * @param attr the field with the expiry
 * @throws 400 if the key doesn't expire although the organization requires it
 */
export function checkExpiry(
	expires_at: string | null,
	strict: { name: string } | undefined,
	attr = "expires_at",
) {
	if (expires_at === null && strict)
		throw invalid(
			attr,
			`API keys that can reach the organization "${strict.name}" must expire: set ${attr}.`,
			"expiry_required",
		);
}
