import { eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { currentOrganization, selectCaller } from "../../access/visible.ts";
import { countWhere } from "../../db/list.ts";
import { domains, organizations } from "../../db/schema/organizations.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { methodOf } from "../connections.ts";
import { identityRemoved, mailCaller } from "../users/mails.ts";
import { isLink, selectLinks, unlinking } from "./links.ts";
import type { Identity } from "./shape.ts";

export const select = ({ db }: Tenant) =>
	db
		.select({
			id: identities.connection,
			email: identities.email,
			organization_name: sql<string | null>`${organizations.name}`.as("organization_name"),
			created_at: identities.created_at,
			last_used_at: identities.last_used_at,
		})
		.from(identities)
		.leftJoin(
			domains,
			sql`${domains.id} = substr(${identities.connection}, instr(${identities.connection}, ':') + 1)`,
		)
		.leftJoin(organizations, eq(organizations.id, domains.organization_id))
		.$dynamic();

type Row = Awaited<ReturnType<typeof select>>[number];

export const toIdentity = (row: Row): z.infer<typeof Identity> => ({
	...row,
	method: methodOf(row.id),
});

const own = ({ key }: Tenant) => eq(identities.user_id, key.user_id);

export const list = (tenant: Tenant, uuid: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectCaller(tenant, uuid),
		select: () => select(tenant),
		where: own(tenant),
		total: countWhere(identities, own(tenant)),
		by: [identities.connection],
		keys: ({ id }) => [id],
		order: "asc",
		to: toIdentity,
	});

/** Removes the link, which ends the sessions that were started through it. */
export const remove = (tenant: Tenant, uuid: string, connection: string) =>
	retry(async () => {
		const { db, key } = tenant;
		const where = isLink(key.user_id, connection);
		const [links, [user]] = await tenant.read(selectLinks(db, where), selectCaller(tenant, uuid));
		const link = orNotFound(user && links[0]);
		const { entries, ...parts } = unlinking(db, where, links);
		const organization = currentOrganization(key.user_id);
		await tenant.write({ ...parts, entries: entries.map((each) => ({ ...each, organization })) });
		mailCaller(tenant, identityRemoved(link));
	});
