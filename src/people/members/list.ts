import { and, eq, gt, sql } from "drizzle-orm";
import type * as z from "zod";
import { cacheList, readCachedPage, readPage } from "../../access/pages.ts";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { userWith } from "../../access/visible.ts";
import { contains } from "../../db/contains.ts";
import { counter } from "../../db/list.ts";
import { insufficientLevel } from "../../db/schema/levels.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { members, users } from "../../db/schema/people.ts";
import { normalizeAddress } from "../../http/fields.ts";
import type { Page } from "../../http/page.ts";
import { isInactiveSince, lastActive } from "./columns.ts";
import { columns, type Row, select } from "./queries.ts";
import type { filters } from "./shape.ts";

/** The columns that the list is sorted by. */
const BY = [members.joined_at, members.id];

/** All active members. */
const active = (tenant: QueryScope) => ({
	select: () => select(tenant).$dynamic(),
	where: and(eq(members.organization_id, tenant.organization), eq(members.is_active, true)),
	total: counter(organizations.active_members, tenant.organization),
	by: BY,
	keys: ({ joined_at, id }: Row) => [joined_at, id],
});

const newestFirst = cacheList(active);

/** The text that is searched. */
const NAME = sql`${users.first_name} || ' ' || ${users.last_name} || ' ' || ${users.email}`;

type Filters = z.infer<typeof filters>;

/** The members that match the filters; undefined if there are no filters. */
function matches(tenant: Tenant, filters: Filters) {
	const { email, search, level, is_2fa_enabled, updated_after, inactive_since } = filters;
	const ofUsers = [search, is_2fa_enabled, inactive_since];
	const hasUsers = ofUsers.some((filter) => filter !== undefined);
	const where = and(
		email ? eq(members.user_id, userWith(users.email, normalizeAddress(email))) : undefined,
		updated_after ? gt(members.updated_at, updated_after) : undefined,
		search ? contains(NAME, search) : undefined,
		level ? eq(members.level, level) : undefined,
		inactive_since ? isInactiveSince(inactive_since) : undefined,
		is_2fa_enabled === undefined ? undefined : eq(users.is_2fa_enabled, is_2fa_enabled),
	);
	return (
		where && {
			id: members.user_id,
			from: hasUsers ? sql`${members} join ${users} on ${users.id} = ${members.user_id}` : members,
			where: and(active(tenant).where, where),
		}
	);
}

const selectActive = ({ db }: Tenant) =>
	db
		.select({ ...columns, last_active_at: lastActive })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id));

/**
 * Active members, newest first.
 * @throws 403 if somebody asks who was active who may not review the members
 */
export async function list(tenant: Tenant, page: Page, filters: Filters) {
	if (Object.values(filters).every((value) => value === undefined))
		return readCachedPage(tenant, page, newestFirst);
	const { inactive_since, include_last_active, order } = filters;
	const asked = {
		...active(tenant),
		few: matches(tenant, filters),
		order: order === "joined_at" ? ("asc" as const) : ("desc" as const),
	};
	const found = include_last_active
		? await readPage(tenant, page, { ...asked, select: () => selectActive(tenant).$dynamic() })
		: await readPage(tenant, page, asked);
	if ((inactive_since || include_last_active) && !tenant.mayReview("organization_member"))
		throw insufficientLevel();
	return found;
}
