/** The texts of all families, by mount path. */

import "../../src/activity/audit_streams/openapi.ts";
import "../../src/exports/batch_exports/openapi.ts";
import type { OpenApi, Tag } from "../../src/http/openapi.ts";
import trustedIssuers from "../../src/oauth/issuers/openapi.ts";
import domains from "../../src/organizations/domains/openapi.ts";
import organizations from "../../src/organizations/organizations/openapi.ts";
import * as projects from "../../src/organizations/projects/openapi.ts";
import * as identities from "../../src/people/identities/openapi.ts";
import invites, { acceptanceOperations, pageOperations } from "../../src/people/invites/openapi.ts";
import members from "../../src/people/members/openapi.ts";
import * as apiKeys from "../../src/people/personal_api_keys/openapi.ts";
import projectMembers from "../../src/people/project_members/openapi.ts";
import scim from "../../src/people/scim/openapi.ts";
import serviceAccounts from "../../src/people/service_accounts/openapi.ts";
import sessions from "../../src/people/sessions/openapi.ts";
import users from "../../src/people/users/openapi.ts";
import type { Listed, RoutesOf } from "./app_type.ts";

/** Those of families whose routes don't have them themselves. */
type Texts = { [Each in Listed as Each["path"]]?: OpenApi<RoutesOf<Each>> };

const known: Texts = {
	"/api/organizations": organizations,
	"/api/organizations/:organization_id/domains": domains,
	"/api/organizations/:organization_id/domains/:domain_id/scim": scim,
	"/api/organizations/:organization_id/invites": invites,
	"/api/organizations/:organization_id/members": members,
	"/api/organizations/:organization_id/members/:user__uuid/identities": identities.ofMember,
	"/api/organizations/:organization_id/service_accounts": serviceAccounts,
	"/api/organizations/:organization_id/service_accounts/:service_account_id/keys":
		apiKeys.ofServiceAccount,
	"/api/organizations/:organization_id/service_accounts/:service_account_id/trusted_issuers":
		trustedIssuers,
	"/api/organizations/:organization_id/projects": projects.ofOrganization,
	"/api/projects": projects.ofCaller,
	"/api/projects/:project_id/members": projectMembers,
	"/api/users": users,
	"/api/users/:uuid/sessions": sessions,
	"/api/users/:uuid/identities": identities.default,
	"/api/personal_api_keys": apiKeys.ofCaller,
	"/api/invites": acceptanceOperations,
	"/invites": pageOperations,
};

export const texts: Record<string, { tag: Tag; operations: Record<string, object> }> = known;
