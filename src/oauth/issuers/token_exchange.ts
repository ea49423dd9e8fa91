import { and, eq, getTableColumns, isNull, lt, or, sql } from "drizzle-orm";
import type { Context } from "hono";
import { scopes as allScopes, hasScope } from "../../access/scopes.ts";
import { commit, retry } from "../../access/unit_of_work.ts";
import { connect } from "../../db/bookmark.ts";
import { isUnchanged } from "../../db/changes.ts";
import { aliased, assertThat, type Connected, type Database } from "../../db/client.ts";
import { trustedIssuers } from "../../db/schema/oauth.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { serviceAccounts, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { App } from "../../env.ts";
import { orNotFound, throttled } from "../../http/errors.ts";
import { countRequest } from "../../http/rate_limit.ts";
import { countFailure } from "../../keys/addresses.ts";
import type { Audience } from "../../keys/audience.ts";
import { ACCESS_TOKEN } from "../../keys/keys.ts";
import { mint, remember } from "../../keys/rows.ts";
import { HOUR_MS, iso, MINUTE_MS, now } from "../../lib/time.ts";
import { OauthError } from "../protocol/errors.ts";
import type { Form } from "../protocol/form.ts";
import { audienceOf } from "../protocol/service.ts";
import { ACCESS_TOKEN_TYPE, respond } from "../protocol/tokens.ts";
import { isKeyOf, RULES } from "./rows.ts";
import { keyFinder } from "./signing_keys.ts";
import { verify } from "./verify.ts";

/** The types of tokens that can be exchanged (RFC 8693, section 3). An ID token is a JWT, too. */
const SUBJECT_TOKEN_TYPES = [
	"urn:ietf:params:oauth:token-type:jwt",
	"urn:ietf:params:oauth:token-type:id_token",
];

const KEY_MS = 15 * MINUTE_MS;

/** How many active keys a trusted issuer can have. */
const MAX_KEYS = 100;

/** When to try again if it has that many, in seconds. */
const RETRY_AFTER = 60;

/** SQL for the number of active keys. */
const countLive = (user_id: Parameters<typeof isKeyOf>[0], id: string) =>
	sql<number>`(select count(*) from ${personalApiKeys}
		where ${isKeyOf(user_id, id)} and ${personalApiKeys.expires_at} > ${now()})`;

/** Selects a trusted issuer of an active service account. */
function selectTrust(db: Database, id: string) {
	const { user_id } = serviceAccounts;
	return db
		.select({
			...getTableColumns(trustedIssuers),
			user_id,
			organization_uuid: aliased(organizations.uuid, "organization_uuid"),
			live: countLive(sql`${user_id}`, id).as("live"),
		})
		.from(trustedIssuers)
		.innerJoin(
			serviceAccounts,
			and(
				eq(serviceAccounts.organization_id, trustedIssuers.organization_id),
				eq(serviceAccounts.id, trustedIssuers.service_account_id),
			),
		)
		.innerJoin(users, and(eq(users.id, user_id), eq(users.is_active, true)))
		.innerJoin(organizations, eq(organizations.id, trustedIssuers.organization_id))
		.where(eq(trustedIssuers.id, id));
}

type Trust = Awaited<ReturnType<typeof selectTrust>>[number];

/** Returns the parameters of a request. Throws OauthError if they aren't supported. */
function readRequest({ env, req }: Context<App>, form: Form) {
	const token = form.required("subject_token");
	if (!SUBJECT_TOKEN_TYPES.includes(form.required("subject_token_type")))
		throw new OauthError("invalid_request", "The subject_token_type isn't that of a JWT.");
	if ((form.optional("requested_token_type") ?? ACCESS_TOKEN_TYPE) !== ACCESS_TOKEN_TYPE)
		throw new OauthError("invalid_request", "Only access tokens are issued.");
	if (form.optional("actor_token") !== undefined)
		throw new OauthError("invalid_request", "The parameter actor_token isn't supported.");
	const resource = form.optional("resource") ?? form.optional("audience");
	const audience = resource === undefined ? "api" : audienceOf({ env, url: req.url }, resource);
	if (!audience) throw new OauthError("invalid_target", "This service has no such resource.");
	return { id: form.required("client_id").toLowerCase(), token, audience };
}

/** Returns the scopes of the key: those of the trusted issuer, or the requested part. */
function scopesOf(form: Form, { scopes }: Trust) {
	const requested = form.optional("scope")?.split(" ") ?? scopes;
	if (!requested.every((scope) => allScopes.includes(scope) && hasScope(scopes, scope)))
		throw new OauthError("invalid_scope", "The trusted issuer doesn't have all of these scopes.");
	return [...new Set(requested)];
}

/**
 * Exchanges the token of a trusted issuer for a key (RFC 8693). A rejected token writes nothing, and
 * counts as a failure of the caller's IP address.
 */
export const exchange = (c: Context<App>, form: Form) =>
	retry(async () => {
		const { db } = connect(c);
		const { id, token, audience } = readRequest(c, form);
		const [[trust]] = await db.batch([selectTrust(db, id)]);
		if (!trust)
			throw await countFailure(
				c,
				new OauthError("invalid_client", "The client_id isn't that of a trusted issuer."),
			);
		const findKey = keyFinder(c.env, trust.issuer);
		const subject = await verify(findKey, trust, token).catch(async (error) => {
			throw error instanceof OauthError ? await countFailure(c, error) : error;
		});
		// After the check, so that nobody else can use up the limit.
		const tooMany = await countRequest(c, trust.id);
		if (tooMany) throw tooMany;
		const scopes = scopesOf(form, trust);
		if (trust.live >= MAX_KEYS)
			throw throttled(
				RETRY_AFTER,
				`This issuer already has ${MAX_KEYS} active keys. Wait until one expires.`,
			);
		return write(c, db, { trust, subject, scopes, audience });
	});

/** SQL condition: tokens are still exchanged like this, and there is room for another key. */
function isCurrent({ user_id, organization_uuid: _, live: __, ...row }: Trust) {
	const isThis = and(eq(trustedIssuers.id, row.id), isUnchanged(trustedIssuers, row, [...RULES]));
	return sql`exists (select 1 from ${trustedIssuers} where ${isThis})
		and ${countLive(user_id, row.id)} < ${MAX_KEYS}`;
}

async function write(
	c: Context<App>,
	db: Connected,
	{
		trust,
		subject,
		...access
	}: { trust: Trust; subject: string; scopes: string[]; audience: Audience },
) {
	const { user_id, name, issuer, scoped_projects, organization_id: organization } = trust;
	const key = {
		...{ user_id, label: name, client_id: trust.id, ...access },
		...{ scoped_organizations: [trust.organization_uuid], scoped_projects },
		expires_at: iso(Date.now() + KEY_MS),
	};
	const minted = await mint(db, key, ACCESS_TOKEN);
	const isUsedFirst = or(
		isNull(trustedIssuers.last_used_at),
		lt(trustedIssuers.last_used_at, iso(Date.now() - HOUR_MS)),
	);
	const { keys } = await commit(
		c.env,
		db,
		{
			checks: [assertThat(db, isCurrent(trust), "is_current")],
			changes: [
				minted.insert,
				db
					.update(trustedIssuers)
					.set({ last_used_at: now() })
					.where(and(eq(trustedIssuers.id, trust.id), isUsedFirst)),
			],
			entries: [
				{
					activity: "exchanged",
					scope: "TrustedIssuer",
					item_id: trust.id,
					...{ name, user_id, organization, project: null },
					trigger: { issuer, subject, key_id: minted.row.id, scopes: access.scopes },
				},
			],
			answers: { keys: minted.select },
		},
		c,
	);
	const row = orNotFound(keys[0]);
	await remember(c.env, row);
	return respond({ access_token: minted.value, issued_token_type: ACCESS_TOKEN_TYPE }, row);
}
