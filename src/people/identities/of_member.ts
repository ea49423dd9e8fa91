import { and, eq, not, sql } from "drizzle-orm";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { idOf } from "../../access/visible.ts";
import { assertThat } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isPerson, members, users } from "../../db/schema/people.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { forbidden, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { isEditableBy, whyNot } from "../levels.ts";
import { adminOf, identityUnlinked, mailChange } from "../users/mails.ts";
import { isHere, selectLinks, unlinking } from "./links.ts";
import { select, toIdentity } from "./queries.ts";

/** Selects a member, or somebody who isn't one (any more), but still has links. */
function selectPerson(tenant: Tenant, uuid: string) {
	const isMember = and(
		eq(members.organization_id, tenant.organization),
		eq(members.user_id, users.id),
	);
	return tenant.db
		.select({
			id: users.id,
			level: sql<number | null>`${members.level}`.as("member_level"),
			organization_name: organizations.name,
		})
		.from(users)
		.innerJoin(organizations, eq(organizations.id, tenant.organization))
		.leftJoin(members, isMember)
		.where(
			and(
				eq(users.id, idOf(tenant, uuid)),
				isPerson,
				sql`(${members.id} is not null or exists (
					select 1 from ${identities} where ${isHere(tenant, uuid)}))`,
			),
		);
}

export const list = (tenant: Tenant, uuid: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectPerson(tenant, uuid),
		select: () => select(tenant),
		where: isHere(tenant, uuid),
		total: countWhere(identities, isHere(tenant, uuid)),
		by: [identities.connection],
		keys: ({ id }) => [id],
		order: "asc",
		to: toIdentity,
	});

/** Ends a link. Throws 403 if the level of the member is above the caller's. */
export const remove = (tenant: Tenant, uuid: string, connection: string) =>
	retry(async () => {
		const { db, env } = tenant;
		const where = and(isHere(tenant, uuid), eq(identities.connection, connection.toLowerCase()));
		const [[found], links] = await tenant.read(selectPerson(tenant, uuid), selectLinks(db, where));
		const { id, level, organization_name } = orNotFound(found);
		const { user_id } = tenant.key;
		const why = whyNot({ user_id, level: tenant.caller.level }, { user_id: id, level: level ?? 0 });
		if (why) throw forbidden(why);
		const link = orNotFound(links[0]);
		const { checks, ...parts } = unlinking(db, where, links);
		const isAbove = and(
			eq(members.organization_id, tenant.organization),
			eq(members.user_id, id),
			not(isEditableBy(user_id, tenant.organization)),
		);
		const isStillBelow = sql`not exists (select 1 from ${members} where ${isAbove})`;
		await tenant.write({
			...parts,
			checks: [...checks, assertThat(db, isStillBelow, "is_current")],
		});
		const change = identityUnlinked(link, adminOf(organization_name));
		tenant.later(() => mailChange(env, id, change, null));
	});
