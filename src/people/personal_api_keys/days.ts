import { eq } from "drizzle-orm";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { personalApiKeyDays, personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { Page } from "../../http/page.ts";
import type { Owner } from "./owner.ts";
import { byId } from "./queries.ts";

/** Lists the days of a key, newest first. Throws 404 if the owner doesn't have this key. */
export function list(tenant: Tenant, owner: Owner, id: string, page: Page) {
	const { db } = tenant;
	const { day, requests, refusals, last_address } = personalApiKeyDays;
	const select = db.select({ day, requests, refusals, last_address }).from(personalApiKeyDays);
	const keyId = db
		.select({ id: personalApiKeys.id })
		.from(personalApiKeys)
		.where(byId(tenant, owner, id));
	return readPage(tenant, page, {
		parent: keyId,
		select: () => select.$dynamic(),
		where: eq(personalApiKeyDays.key_id, keyId),
		by: [day],
		keys: (row) => [row.day],
	});
}
