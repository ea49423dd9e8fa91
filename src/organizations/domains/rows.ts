import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { isUnchanged } from "../../db/changes.ts";
import { columnsIn } from "../../db/client.ts";
import { domains } from "../../db/schema/organizations.ts";
import { MASK } from "../../keys/secrets.ts";
import { hasOidc, hasSaml } from "./connections.ts";
import { Domain } from "./shape.ts";

const { break_glass, ...columns } = columnsIn(domains, Domain.shape);

/** SQL for the UUIDs of the users in `break_glass`, in their order. */
const breakGlass = sql`(select json_group_array(uuid) from (
	select u.uuid from json_each(${break_glass}) as chosen join users as u on u.id = chosen.value
	order by u.uuid))`.mapWith((json): string[] => JSON.parse(json));

export const select = ({ db }: QueryScope) =>
	db.select({ ...columns, break_glass: breakGlass.as("break_glass") }).from(domains);

export type Row = Awaited<ReturnType<typeof select>>[number];

export const toDomain = (row: Row): z.infer<typeof Domain> => ({
	...row,
	is_verified: row.verified_at !== null,
	has_saml: hasSaml(row),
	has_oidc: hasOidc(row),
	oidc_client_secret: row.oidc_client_secret && MASK,
});

/** WHERE clause: the row still has the values that were read. */
export const isCurrent = ({ break_glass, ...row }: Row) =>
	and(isUnchanged(domains, row), sql`${breakGlass} = ${JSON.stringify(break_glass)}`);

export const byId = (tenant: Tenant, id: string) =>
	and(eq(domains.organization_id, tenant.organization), eq(domains.id, id.toLowerCase()));
