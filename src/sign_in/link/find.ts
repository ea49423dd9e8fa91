import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { currentOrganization } from "../../access/visible.ts";
import { connect } from "../../db/bookmark.ts";
import { type Database, runBatch } from "../../db/client.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isActivePerson, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import {
	canStillBeUsed,
	isOpen,
	MAX_ATTEMPTS,
	signIns,
	twoFactors,
} from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { invalid, throttled } from "../../http/errors.ts";
import { countFailure } from "../../keys/addresses.ts";
import { inCookie } from "../../keys/cookie.ts";
import { digest } from "../../keys/keys.ts";
import { providerOf } from "../../people/connections.ts";
import { brokenGlassOf, needsFactor, ssoOf } from "../../people/identities/sign_in_rules.ts";
import { selectByHash as selectSession } from "../../people/personal_api_keys/sessions.ts";
import { userColumns } from "../../people/users/shape.ts";
import { countAttempt, factorColumns, type Given, isGiven } from "../totp/proof.ts";
import { type Reference, referenceOf } from "../webauthn/challenges.ts";

export type SignIn = Awaited<ReturnType<typeof findSignIn>>;

/** Selects links with their users and everything else that signing in depends on. */
const selectLinks = (db: Database, passkey: Reference | undefined) =>
	db
		.select({
			id: signIns.id,
			method: signIns.method,
			connection: signIns.connection,
			is_open: sql`(${and(isOpen(), isActivePerson)})`.mapWith(Boolean).as("is_open"),
			attempts: sql<number>`${signIns.attempts}`.as("link_attempts"),
			has_factor: signIns.has_factor,
			sso: ssoOf(sql`${users.email}`, signIns.connection).as("sso"),
			factor_reset_at: users.factor_reset_at,
			/** After a reset of the second factor. If the domain enforces a provider, that is proof, too. */
			must_prove_address:
				sql`(${users.factor_reset_at} is not null and ${signIns.method} <> 'mail' and ${ssoOf(sql`${users.email}`)} is null)`
					.mapWith(Boolean)
					.as("must_prove_address"),
			broken_glass: brokenGlassOf(sql`${users.email}`, signIns.connection).as("broken_glass"),
			is_required: needsFactor(signIns).mapWith(Boolean).as("is_required"),
			organization_id: sql<number | null>`${currentOrganization(signIns.user_id)}`.as(
				"organization_id",
			),
			organization_name: sql<
				string | null
			>`(select ${organizations.name} from ${organizations} where ${organizations.id} = ${currentOrganization(signIns.user_id)})`.as(
				"organization_name",
			),
			user: userColumns,
			...factorColumns(passkey),
		})
		.from(signIns)
		.innerJoin(users, eq(users.id, signIns.user_id))
		.leftJoin(twoFactors, eq(twoFactors.user_id, users.id));

/**
 * Returns the link with this token, its user, and everything else that signing in depends on. One
 * round trip.
 * @param given the proof of the second factor, which counts as an attempt of the link and the user
 * @throws 400 for an invalid token, if single sign-on is enforced, or if a link by mail has to prove
 * the address first; 429 after too many requests
 * or wrong tokens
 */
export async function findSignIn(c: Context<App>, token: string, given: Given = {}) {
	const { db } = connect(c, "first-primary");
	const byToken = eq(signIns.token_hash, await digest(token));
	const user_id = sql<number>`(select ${signIns.user_id} from ${signIns} where ${and(byToken, isOpen())})`;
	const hasProof = isGiven(given);
	const passkey = given.passkey && (await referenceOf(given.passkey));
	const cookie = inCookie(c);
	const { attempt, linkAttempt, links, keys, replaced } = await runBatch(db, {
		attempt: hasProof ? countAttempt(db, user_id, sql`true`) : undefined,
		linkAttempt: hasProof
			? db
					.update(signIns)
					.set({ attempts: sql`${signIns.attempts} + 1` })
					.where(and(byToken, canStillBeUsed()))
					.returning({ id: signIns.id })
			: undefined,
		links: selectLinks(db, passkey).where(byToken),
		keys: db
			.select({
				id: personalApiKeys.id,
				label: personalApiKeys.label,
				scopes: personalApiKeys.scopes,
				created_at: personalApiKeys.created_at,
				last_used_at: personalApiKeys.last_used_at,
				expires_at: personalApiKeys.expires_at,
				session: personalApiKeys.session,
			})
			.from(personalApiKeys)
			.where(eq(personalApiKeys.user_id, user_id))
			.orderBy(personalApiKeys.id),
		/** The session that the browser has. */
		replaced: cookie ? selectSession(db, await digest(cookie)) : undefined,
	});
	const [link] = links;
	const mayTry = hasProof
		? linkAttempt && linkAttempt.length > 0
		: link && link.attempts < MAX_ATTEMPTS;
	if (!link?.is_open || !mayTry) throw await countFailure(c, linkExpired());
	await limitRate(c, link.id);
	if (link.sso !== null) throw ssoRequired(link.sso);
	if (link.must_prove_address) throw addressUnproved();
	const { user } = link;
	return {
		db,
		link,
		user,
		factor: { ...link, user_id: user.id },
		keys,
		replaced: replaced?.[0],
		isCounted: (attempt ?? []).length > 0,
	};
}

/** Limits requests with a link to the same rate as requests with a key. */
async function limitRate(c: Context<App>, id: string) {
	const { success } = await c.env.REQUESTS.limit({ key: id });
	if (!success) throw throttled(60);
}

/** Returns the same error for every invalid token, so that it reveals nothing about the user. */
const linkExpired = () =>
	invalid("token", "This link has expired, or was used before. Ask for a new one.", "expired");

const addressUnproved = () =>
	invalid(
		null,
		"Your second factor was reset. Sign in with a link by mail once, which proves your address.",
		"verification_required",
	);

const ssoRequired = (sso: string) =>
	invalid(
		null,
		`Your organization requires that you sign in through single sign-on (${providerOf(sso)}).`,
		"sso_required",
	);
