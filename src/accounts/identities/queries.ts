import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPageIn } from "../../access/pages.ts";
import { removeRow } from "../../access/remove.ts";
import type { Tenant } from "../../access/tenant.ts";
import { currentOrganization, selectCaller } from "../../access/visible.ts";
import { evict } from "../../auth/keys.ts";
import { countWhere } from "../../db/list.ts";
import { domains } from "../../db/schema/domains.ts";
import { identities } from "../../db/schema/identities.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { methodOf } from "../sign_in/rules.ts";
import { identityRemoved, tellCaller } from "../users/mails.ts";
import type { Identity } from "./shape.ts";

const select = ({ db }: Tenant) =>
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

const toIdentity = (row: Row): z.infer<typeof Identity> => ({ ...row, method: methodOf(row.id) });

const own = ({ key }: Tenant) => eq(identities.user_id, key.user_id);

export const list = (tenant: Tenant, uuid: string, page: Page) =>
	readPageIn(tenant, page, selectCaller(tenant, uuid), {
		select: () => select(tenant),
		where: own(tenant),
		total: countWhere(identities, own(tenant)),
		by: [identities.connection],
		keys: ({ id }) => [id],
		order: "asc",
		to: toIdentity,
	});

/** Removes the link, which ends the sessions that were started through it (by a trigger). */
export async function remove(tenant: Tenant, uuid: string, connection: string) {
	const { db, env, key } = tenant;
	const where = and(own(tenant), eq(identities.connection, connection));
	const [[row], [user], sessions] = await tenant.read(
		select(tenant).where(where),
		selectCaller(tenant, uuid),
		db
			.select({ hash: personalApiKeys.hash })
			.from(personalApiKeys)
			.where(
				and(
					eq(personalApiKeys.user_id, key.user_id),
					sql`${personalApiKeys.session} ->> 'connection' = ${connection}`,
				),
			),
	);
	const { id, email } = orNotFound(user && row);
	const entry = {
		scope: "Identity" as const,
		item_id: id,
		name: email,
		organization: currentOrganization(key.user_id),
	};
	await removeRow(tenant, entry, identities, where);
	await Promise.all(sessions.map(({ hash }) => evict(env, hash)));
	tellCaller(tenant, identityRemoved({ connection, email }));
}
