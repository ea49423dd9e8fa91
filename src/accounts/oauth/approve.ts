import { sql } from "drizzle-orm";
import type * as z from "zod";
import { retry } from "../../access/retry.ts";
import { grants } from "../../access/scopes.ts";
import type { Tenant } from "../../access/tenant.ts";
import { digest, newToken } from "../../auth/keys.ts";
import { assertExists, assertThat } from "../../db/assertion.ts";
import { oauthClients, oauthCodes } from "../../db/schema/oauth.ts";
import { forbidden, invalid } from "../../http/errors.ts";
import {
	assertMayGrant,
	checkExpiry,
	checkRestrictions,
	type Grants,
	mayLast,
	restrictions,
	selectStrict,
	toSql,
} from "../personal_api_keys/grants.ts";
import { appAllowed, canWrite, tellCaller } from "../users/mails.ts";
import { isStill, selectRegistered } from "./clients.ts";
import { check, urlWith } from "./request.ts";
import type { AppResponse, approval as Body } from "./shape.ts";
import { codeExpiry } from "./tokens.ts";

/** Returns the access that the person gives. */
const accessIn = (body: z.infer<typeof Body>): Grants => ({
	scopes: body.scopes,
	scoped_organizations: body.scoped_organizations ?? [],
	scoped_projects: body.scoped_projects ?? [],
	allowed_ips: [],
	expires_at: body.ends_at ?? null,
});

/**
 * Allows an app what it asks for, or a part of it. The app gets a code, which it exchanges for
 * tokens.
 * @throws 400 if the request is invalid, or the person allows more than it asks for; 403 if the key
 * in use has less access
 */
export const approve = (tenant: Tenant, body: z.infer<typeof Body>) =>
	retry(async (): Promise<z.infer<typeof AppResponse>> => {
		const owner = { user_id: sql<number>`${tenant.key.user_id}`, isServiceAccount: false };
		const access = accessIn(body);
		const [organizations, projects, [strict], [registered]] = await tenant.read(
			...restrictions(tenant, owner, body),
			selectStrict(tenant, owner, toSql(access)),
			selectRegistered(tenant.db, body.client_id, tenant.key.user_id),
		);
		if (tenant.caller.is_service_account) throw forbidden("Only people can allow apps.");
		await assertMayGrant(tenant, access);
		checkRestrictions("scoped_organizations", body.scoped_organizations, organizations);
		checkRestrictions("scoped_projects", body.scoped_projects, projects);
		checkExpiry(access.expires_at, strict, "ends_at");
		const { client, audience, scopes } = await check(tenant, body, registered);
		if (!access.scopes.every((scope) => grants(scopes, scope)))
			throw invalid("scopes", "The app doesn't ask for all of these scopes.");
		const code = newToken();
		await tenant.write({
			checks: [
				assertThat(tenant.db, mayLast(tenant, owner, access), "is_current"),
				...(registered ? [assertExists(tenant.db, oauthClients, isStill(registered))] : []),
			],
			changes: [
				tenant.db.insert(oauthCodes).values({
					hash: await digest(code),
					user_id: tenant.key.user_id,
					expires_at: codeExpiry(),
					approval: {
						client_id: client.client_id,
						client_name: client.name,
						redirect_uri: body.redirect_uri,
						code_challenge: body.code_challenge,
						audience,
						scopes: access.scopes,
						scoped_organizations: access.scoped_organizations,
						scoped_projects: access.scoped_projects,
						ends_at: access.expires_at,
					},
				}),
			],
		});
		if (canWrite(access)) tellCaller(tenant, appAllowed(client, access.scopes));
		return { redirect_url: urlWith(tenant, body, { code }) };
	});
