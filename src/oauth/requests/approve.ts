import { type SQL, sql } from "drizzle-orm";
import type { BatchResponse } from "drizzle-orm/batch";
import type * as z from "zod";
import { hasScope } from "../../access/scopes.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import { type Approval, oauthClients, oauthCodes } from "../../db/schema/oauth.ts";
import { forbidden, invalid } from "../../http/errors.ts";
import { digest, newToken } from "../../keys/keys.ts";
import {
	assertMayGive,
	checkRestrictions,
	checkRules,
	type GivenAccess,
	isWithinRules,
	restrictions,
	selectRules,
	toSql,
} from "../../people/personal_api_keys/access.ts";
import { appAllowed, canWrite, mailCaller } from "../../people/users/mails.ts";
import { type Client, isStill } from "../apps/clients.ts";
import { rejectionOf } from "../consents/consents.ts";
import { codeExpiry } from "../protocol/tokens.ts";
import { type AccessRequest, checkRequest, selectApp, urlWith } from "./request.ts";
import type { AppResponse, approval as Body, Choice } from "./shape.ts";

/** Returns the access that the person gives. */
const accessIn = (choice: Choice): GivenAccess => ({
	scopes: choice.scopes,
	scoped_organizations: choice.scoped_organizations ?? [],
	scoped_projects: choice.scoped_projects ?? [],
	allowed_ips: [],
	expires_at: choice.ends_at ?? null,
});

const ownerOf = ({ key }: Tenant) => ({
	user_id: sql<number>`${key.user_id}`,
	isServiceAccount: false,
});

/**
 * The queries on which `checkChoice` decides.
 * @param client_id of the app
 */
export const selectForChoice = (tenant: Tenant, choice: Choice, client_id: SQL) =>
	[
		...restrictions(tenant, ownerOf(tenant), choice),
		selectRules(tenant, ownerOf(tenant), toSql(accessIn(choice)), client_id),
	] as const;

type Answers = BatchResponse<ReturnType<typeof selectForChoice>>;

/**
 * Checks whether the person can give this access. If an organization doesn't allow the app, its
 * admins see in the log who wanted it.
 * @throws 400 if the person can't give this access; 403 if the key in use has less
 */
export async function checkChoice(
	tenant: Tenant,
	{ choice, client }: { choice: Choice; client: Client },
	[organizations, projects, rules]: Answers,
) {
	if (tenant.caller.is_service_account) throw forbidden("Only people can allow apps.");
	await assertMayGive(tenant, accessIn(choice));
	checkRestrictions("scoped_organizations", choice.scoped_organizations, organizations);
	checkRestrictions("scoped_projects", choice.scoped_projects, projects);
	const closed = rules.find(({ is_closed }) => is_closed);
	if (closed)
		await tenant.write({
			entries: [
				rejectionOf(client, tenant.key.user_id, { organization: closed.id, job: "not_allowed" }),
			],
		});
	checkRules(accessIn(choice).expires_at, rules, "ends_at");
}

type Consent = {
	choice: Choice;
	request: AccessRequest;
	/** The code that the app exchanges, and what else it has to prove. */
	code: Pick<typeof oauthCodes.$inferInsert, "hash" | "expires_at"> &
		Pick<Approval, "redirect_uri" | "code_challenge">;
	/** A check and a change of the same write. */
	more?: Parameters<Tenant["write"]>[0];
};

/**
 * Stores the consent of a person, which the app then exchanges for tokens.
 * @throws 400 if it is more than the app asks for
 */
export async function store(
	tenant: Tenant,
	{ choice, request: { client, audience, scopes }, code, more = {} }: Consent,
) {
	const { hash, expires_at, ...proof } = code;
	const { expires_at: ends_at, allowed_ips: _, ...access } = accessIn(choice);
	if (!access.scopes.every((scope) => hasScope(scopes, scope)))
		throw invalid("scopes", "The app doesn't ask for all of these scopes.");
	const approval = {
		...{ client_id: client.client_id, client_name: client.name, audience },
		...{ ...proof, ...access, ends_at, approved_with: tenant.key.hash },
	};
	const { user_id } = tenant.key;
	const isAllowed = isWithinRules(
		tenant,
		ownerOf(tenant),
		accessIn(choice),
		sql`${client.client_id}`,
	);
	await tenant.write({
		checks: [assertThat(tenant.db, isAllowed, "is_current"), ...(more.checks ?? [])],
		changes: [
			...(more.changes ?? []),
			tenant.db.insert(oauthCodes).values({ hash, user_id, expires_at, approval }),
		],
	});
	if (canWrite(access)) mailCaller(tenant, appAllowed(client, access.scopes));
}

/**
 * Allows an app what it asks for, or a part of it. The app gets a code, which it exchanges for
 * tokens.
 * @throws 400 if the request is invalid, or the person allows more than it asks for; 403 if the key
 * in use has less access
 */
export const approve = (tenant: Tenant, body: z.infer<typeof Body>) =>
	retry(async (): Promise<z.infer<typeof AppResponse>> => {
		const [[registered], ...answers] = await tenant.read(
			selectApp(tenant, body),
			...selectForChoice(tenant, body, sql`${body.client_id}`),
		);
		const request = await checkRequest(tenant, body, registered);
		await checkChoice(tenant, { choice: body, client: request.client }, answers);
		const isRegistered = registered && assertExists(tenant.db, oauthClients, isStill(registered));
		const { redirect_uri, code_challenge } = body;
		const code = newToken();
		await store(tenant, {
			choice: body,
			request,
			code: {
				hash: await digest(code),
				expires_at: codeExpiry(body.ends_at ?? null),
				redirect_uri,
				code_challenge,
			},
			more: { checks: isRegistered ? [isRegistered] : [] },
		});
		return { redirect_url: urlWith(tenant, body, { code }) };
	});
