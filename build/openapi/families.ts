/** The texts of all families, by mount path. */

import type { OpenApi, Tag } from "../../src/http/openapi.ts";
import trustedIssuers from "../../src/oauth/issuers/openapi.ts";
import type { Listed, RoutesOf } from "./app_type.ts";

/** Those of families whose routes don't have them themselves. */
type Texts = { [Each in Listed as Each["path"]]?: OpenApi<RoutesOf<Each>> };

const known: Texts = {
	"/api/organizations/:organization_id/service_accounts/:service_account_id/trusted_issuers":
		trustedIssuers,
};

export const texts: Record<string, { tag: Tag; operations: Record<string, object> }> = known;
