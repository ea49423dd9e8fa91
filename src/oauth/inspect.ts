import type { Context } from "hono";
import { retry } from "../access/unit_of_work.ts";
import { connect } from "../db/bookmark.ts";
import type { App } from "../env.ts";
import { countFailure } from "../keys/addresses.ts";
import { AUDIENCES } from "../keys/audience.ts";
import { now } from "../lib/time.ts";
import { end, findByToken } from "./consents/consents.ts";
import { endGiven } from "./issuers/rows.ts";
import { OauthError } from "./protocol/errors.ts";
import type { Form } from "./protocol/form.ts";
import { issuerOf, resourceOf } from "./protocol/service.ts";

/* The endpoints with which apps revoke and inspect their tokens. */

const INACTIVE = { active: false };

const ofOtherApp = () => new OauthError("invalid_grant", "The token belongs to another app.");

/** Ends the consent of a token, or a key for a job (RFC 7009). An unknown token is a success, too. */
export const revoke = (c: Context<App>, form: Form) =>
	retry(async () => {
		const { db } = connect(c);
		const token = form.required("token");
		const found = await findByToken(db, token);
		if (!found) return endGiven(db, token);
		// Whoever finds a token may end it. An app that names itself has to be the right one.
		const client_id = form.optional("client_id") ?? found.consent.client_id;
		if (client_id !== found.consent.client_id) throw ofOtherApp();
		await end(c, db, found.consent, "app");
	});

/**
 * Describes a token to the app that has it (RFC 7662). Unknown tokens count as failures of the
 * caller's IP address, so that nobody can try many.
 */
export async function introspect(c: Context<App>, form: Form) {
	const { db } = connect(c);
	const client_id = form.required("client_id");
	const found = await findByToken(db, form.required("token"));
	if (!found || found.consent.client_id !== client_id) {
		const error = await countFailure(c, ofOtherApp());
		if (error.status === 429) throw error;
		return INACTIVE;
	}
	const { kind, consent } = found;
	const isAccess = kind === "access";
	const expires_at = isAccess ? consent.expires_at : consent.refresh_expires_at;
	if (kind === "used" || expires_at === null || expires_at <= now()) return INACTIVE;
	const service = { env: c.env, url: c.req.url };
	const audience = AUDIENCES.find((each) => each === consent.audience);
	return {
		active: true,
		scope: (isAccess ? consent.access_scopes : consent.scopes).join(" "),
		client_id,
		...(isAccess && { token_type: "Bearer" }),
		exp: Math.floor(Date.parse(expires_at) / 1000),
		sub: consent.user.uuid,
		...(audience && { aud: resourceOf(service, audience) }),
		iss: issuerOf(service),
	};
}
