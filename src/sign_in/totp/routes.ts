import type { Context } from "hono";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { ok, router } from "../../http/router.ts";
import { Member } from "../../people/members/shape.ts";
import * as factors from "./queries.ts";
import { findResettable, reset } from "./reset.ts";
import {
	ATTEMPTS,
	Code,
	OptionalProof,
	PROVE_ADDRESS,
	RequiredProof,
	TwoFactor,
	TwoFactorSetup,
	TwoFactorWithCodes,
	WRONG_CODE,
	WRONG_PASSKEY,
} from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

const SECTION = {
	name: "Second factor",
	description:
		"Your second factor for signing in: codes of an authenticator app (TOTP, RFC 6238) or passkeys, and recovery codes in case you lose them. API keys work without it. Service accounts have no second factor and get a 403.",
};

const memberUuid = (c: Context<App>) => c.req.param("user__uuid") ?? "";

/** docs/keys.md#a-lost-second-factor */
export const ofMember = router(SECTION)
	.use("*", atLeast(ADMIN))
	.post(
		"/reset",
		ok(Member, {
			id: "resetMemberTwoFactor",
			summary: "Reset the second factor of a member who has lost it",
			description: `Removes the member's authenticator app, recovery codes and passkeys, and ends their sessions. Before anything else signs them in again, a link by mail has to prove their address, unless their domain enforces single sign-on. The member and all owners get a mail. Requires a code, a recovery code or a passkey of your own (\`challengePasskey\`); level 15, or level 8 for members of level 1; and the same in every other organization that the member belongs to, because the factor protects these, too: otherwise it is a 403, and the operator of the service can help. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input: "The member has no second factor.",
				two_factor_setup_required: "You have no second factor yourself.",
			},
		}),
		body(RequiredProof, findResettable),
		async (c) => c.json(await reset(c.var.tenant, memberUuid(c), c.req.valid("json"))),
	);

/** docs/keys.md#the-second-factor */
export default router(SECTION)
	.get(
		"/",
		ok(TwoFactor, {
			id: "getTwoFactor",
			summary: "Retrieve your second factor",
			description: "Returns whether your second factor is enabled, and whether you need one.",
		}),
		async (c) => c.json(await factors.find(c.var.tenant, uuid(c))),
	)
	.post(
		"/begin",
		ok(TwoFactorSetup, {
			id: "beginTwoFactor",
			summary: "Start to set up an authenticator app",
			description: `Creates a secret for an authenticator app. Only this response shows it. To enable it, send a code to \`confirmTwoFactor\`. Replaces an unconfirmed secret. If you have passkeys, it requires one of them or a recovery code. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input: "Your authenticator app is enabled already.",
				two_factor_required: "You have passkeys, and the body has no proof.",
				verification_required: PROVE_ADDRESS,
			},
		}),
		body(OptionalProof, factors.find),
		async (c) => c.json(await factors.begin(c.var.tenant, uuid(c), c.req.valid("json"))),
	)
	.post(
		"/confirm",
		ok(TwoFactorWithCodes, {
			id: "confirmTwoFactor",
			summary: "Enable the authenticator app",
			description: `Requires a code of the secret that \`beginTwoFactor\` created. From then on, signing in by mail requires a code. Your other sessions end. Only this response shows the recovery codes, which replace earlier ones: each works once, in place of a code. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_input: "Your second factor is enabled already, or there is no secret yet.",
			},
		}),
		body(Code, factors.find),
		async (c) => c.json(await factors.confirm(c.var.tenant, uuid(c), c.req.valid("json").code)),
	)
	.post(
		"/disable",
		ok(TwoFactor, {
			id: "disableTwoFactor",
			summary: "Disable the authenticator app",
			description: `Requires a code, a recovery code or a passkey. Deletes the secret and, if you have no passkeys, the recovery codes. Your other sessions end. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input:
					"Your authenticator app isn't enabled; or you have no passkeys, and an organization that you belong to requires a second factor.",
			},
		}),
		body(RequiredProof, factors.find),
		async (c) => c.json(await factors.disable(c.var.tenant, uuid(c), c.req.valid("json"))),
	)
	.post(
		"/recovery_codes",
		ok(TwoFactorWithCodes, {
			id: "replaceTwoFactorCodes",
			summary: "Replace your recovery codes",
			description: `Requires a code, a recovery code or a passkey. The old recovery codes stop working; only this response shows the new ones. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input: "You have no second factor.",
			},
		}),
		body(RequiredProof, factors.find),
		async (c) => c.json(await factors.replaceCodes(c.var.tenant, uuid(c), c.req.valid("json"))),
	);
