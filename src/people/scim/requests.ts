import { eq, getTableColumns } from "drizzle-orm";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { scimRequests } from "../../db/schema/scim.ts";
import type { Page } from "../../http/page.ts";
import { selectDomain } from "./domain.ts";

const { domain_id: ofDomain, ...columns } = getTableColumns(scimRequests);

/** Lists the provider's last requests, newest first. */
export const list = (tenant: Tenant, domain_id: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectDomain(tenant, domain_id),
		select: () => tenant.db.select(columns).from(scimRequests).$dynamic(),
		where: eq(ofDomain, domain_id.toLowerCase()),
		by: [scimRequests.id],
		keys: ({ id }) => [id],
	});
