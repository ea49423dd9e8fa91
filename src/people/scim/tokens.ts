import { and, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { removeRow } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertThat } from "../../db/client.ts";
import { scimTokens } from "../../db/schema/scim.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { newKey } from "../../keys/keys.ts";
import { DAY_MS, iso, now } from "../../lib/time.ts";
import { ofDomain, selectDomain, TOKEN_PREFIX, verified } from "./domain.ts";
import type { ScimToken } from "./shape.ts";

/** How long a token works after it was replaced. */
const REPLACED_MS = DAY_MS;

const select = ({ db }: Tenant) =>
	db
		.select({
			id: scimTokens.id,
			value: sql<string | null>`null`.as("value"),
			mask_value: scimTokens.mask_value,
			created_at: scimTokens.created_at,
			expires_at: scimTokens.expires_at,
			last_used_at: scimTokens.last_used_at,
		})
		.from(scimTokens)
		.$dynamic();

const isValid = () => or(isNull(scimTokens.expires_at), gt(scimTokens.expires_at, now()));

/** Lists the tokens that still work, newest first. */
export const list = (tenant: Tenant, domain_id: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectDomain(tenant, domain_id),
		select: () => select(tenant),
		where: and(ofDomain(tenant, domain_id), isValid()),
		by: [scimTokens.id],
		keys: ({ id }) => [id],
	});

/** Creates a token. The one before it works for another day. */
export const insert = (tenant: Tenant, domain_id: string) =>
	retry(async (): Promise<z.infer<typeof ScimToken>> => {
		const { db, organization } = tenant;
		const isOurs = ofDomain(tenant, domain_id);
		const [[domain], tokens] = await tenant.read(
			selectDomain(tenant, domain_id),
			select(tenant).where(and(isOurs, isValid())),
		);
		const { id: ours, domain: name } = verified(orNotFound(domain));
		if (tokens.length > 1)
			throw invalid(null, "The domain has two tokens. Revoke one of them, or wait until it ends.");
		const { value, columns } = await newKey(TOKEN_PREFIX);
		const id = v7();
		const left = sql`(select count(*) from ${scimTokens} where ${and(isOurs, isValid())})`;
		const row = await tenant.write({
			checks: [assertThat(db, sql`${left} = ${tokens.length}`, "is_current")],
			changes: [
				db.delete(scimTokens).where(and(isOurs, lte(scimTokens.expires_at, now()))),
				db
					.update(scimTokens)
					.set({ expires_at: iso(Date.now() + REPLACED_MS) })
					.where(and(isOurs, isNull(scimTokens.expires_at))),
				db.insert(scimTokens).values({
					id,
					organization_id: organization,
					domain_id: ours,
					...columns,
					created_by: tenant.key.user_id,
				}),
			],
			entries: [
				{
					activity: "created",
					scope: "ScimToken",
					item_id: id,
					name,
					values: { mask_value: columns.mask_value },
				},
			],
			answer: select(tenant).where(eq(scimTokens.id, id)),
		});
		return { ...row, value };
	});

/** Revokes a token: its next request is rejected. */
export async function remove(tenant: Tenant, domain_id: string, id: string) {
	const isToken = and(ofDomain(tenant, domain_id), eq(scimTokens.id, id.toLowerCase()));
	const [[domain], [token]] = await tenant.read(
		selectDomain(tenant, domain_id),
		select(tenant).where(isToken),
	);
	const { id: item_id, mask_value } = orNotFound(token);
	const { domain: name } = orNotFound(domain);
	const entry = { scope: "ScimToken" as const, item_id, name, values: { mask_value } };
	await removeRow(tenant, entry, scimTokens, isToken);
}
