import type { Context } from "hono";
import * as z from "zod";
import { body } from "../../access/input.ts";
import type { Tenant } from "../../access/tenant.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { read } from "../totp/caller.ts";
import {
	ATTEMPTS,
	PROVE_ADDRESS,
	RequiredProof,
	WRONG_CODE,
	WRONG_PASSKEY,
} from "../totp/shape.ts";
import { PasskeyCreation, PasskeyRequest } from "../webauthn/shape.ts";
import * as passkeys from "./queries.ts";
import * as registration from "./register.ts";
import { create, NewPasskey, Passkey, update } from "./shape.ts";

const uuid = (c: Context<App>) => c.req.param("uuid") ?? "";

const ids = (c: Context<App>) => ({ uuid: uuid(c), id: c.req.param("id") ?? "" });

const find = (tenant: Tenant, id: string, c: Context<App>) => passkeys.find(tenant, uuid(c), id);

const MAY_NOT =
	"You already have 20 passkeys, or the operator hasn't set `APP_URL`, the site that passkeys belong to.";

const KEY =
	"A passkey signs in to everything that you can access, so the key in use must be a session's, or have the scope `*` without restrictions and expiry date. Others get a 403.";

/** docs/keys.md#passkeys */
export default router({
	name: "Passkeys",
	description:
		"Your passkeys (WebAuthn credentials). A passkey is a second factor when you sign in by mail. If the device verifies you, for example with a fingerprint or PIN, it is all that you need to sign in. Service accounts have none and get a 403.",
	parameters: { id: z.guid().describe("The passkey's id.") },
})
	.get(
		"/",
		paginated(Passkey, {
			id: "listPasskeys",
			summary: "List your passkeys",
			description: "Lists your passkeys, newest first.",
		}),
		async (c) => c.json(await passkeys.list(c.var.tenant, uuid(c), page(c))),
	)
	.post(
		"/begin",
		ok(PasskeyCreation, {
			id: "beginPasskey",
			summary: "Start to register a passkey",
			description: `Returns what a browser needs for a new passkey: convert it with \`PublicKeyCredential.parseCreationOptionsFromJSON\`, and pass it to \`navigator.credentials.create\`. Valid for ten minutes. ${KEY}`,
			errors: { invalid_input: MAY_NOT, verification_required: PROVE_ADDRESS },
		}),
		async (c) => c.json(await registration.begin(c.var.tenant, uuid(c))),
	)
	.post(
		"/",
		created(NewPasskey, {
			id: "createPasskey",
			summary: "Register a passkey",
			description: `Registers the passkey that the browser made. If you have a second factor already, this requires a proof of it. If you have none, the passkey becomes your second factor: your other sessions end, and the response has recovery codes, which are shown only here. ${KEY} ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey:
					"The new passkey is invalid, or its challenge is unknown, expired or used (`attr` is `credential`); or the one that should prove your second factor (`attr` is `passkey`).",
				invalid_input: MAY_NOT,
				two_factor_required: "You have a second factor, and the body has no proof.",
				unique: "This passkey is registered already.",
				verification_required: PROVE_ADDRESS,
			},
		}),
		body(create, read),
		async (c) => c.json(await registration.insert(c.var.tenant, uuid(c), c.req.valid("json")), 201),
	)
	.post(
		"/challenge",
		ok(PasskeyRequest, {
			id: "challengePasskey",
			summary: "Start to prove your second factor with a passkey",
			description:
				"Returns what a browser needs to use one of your passkeys as a proof: convert it with `PublicKeyCredential.parseRequestOptionsFromJSON`, and pass it to `navigator.credentials.get`. Valid for ten minutes, and once.",
			errors: { invalid_input: "You have no passkeys, or the operator hasn't set `APP_URL`." },
		}),
		async (c) => c.json(await registration.challenge(c.var.tenant, uuid(c))),
	)
	.get(
		"/:id",
		ok(Passkey, {
			id: "getPasskey",
			summary: "Retrieve a passkey",
			description: "Returns the passkey. Passkeys of others are a 404.",
		}),
		async (c) => c.json(await find(c.var.tenant, c.req.param("id"), c)),
	)
	.patch(
		"/:id",
		ok(Passkey, {
			id: "updatePasskey",
			summary: "Rename a passkey",
			description: "Changes the name. Returns the passkey.",
		}),
		body(update, find),
		async (c) => c.json(await passkeys.rename(c.var.tenant, ids(c), c.req.valid("json"))),
	)
	.post(
		"/:id/remove",
		noContent({
			id: "removePasskey",
			summary: "Remove a passkey",
			description: `Requires a code, a recovery code or a passkey. Your other sessions end. If it was your last factor, the recovery codes are deleted, too. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey: WRONG_PASSKEY,
				invalid_input:
					"It is your only second factor, and an organization that you belong to requires one; or the operator hasn't set `APP_URL`.",
			},
		}),
		body(RequiredProof, find),
		async (c) => {
			await passkeys.remove(c.var.tenant, ids(c), c.req.valid("json"));
			return c.body(null, 204);
		},
	);
