/** Signed receipts of revocations (docs/audit.md#revocation-receipts). */
import { desc } from "drizzle-orm";
import { createMiddleware } from "hono/factory";
import type { BlankInput } from "hono/types";
import * as z from "zod";
import type { Database } from "../db/client.ts";
import { entryId } from "../db/entries.ts";
import { activityLog } from "../db/schema/activity_log.ts";
import type { App } from "../env.ts";
import { explain } from "../http/fields.ts";
import { applied } from "../http/prefer.ts";
import { type Documenting, describeRoute, type Text } from "../http/router.ts";
import { canSign, type Signer, selectSigner, sign } from "../keys/signing_keys.ts";
import { logWarning } from "../lib/log.ts";

const Revoked = z.object({
	type: explain(
		z.enum([
			"member",
			"service_account",
			"personal_api_key",
			"service_account_key",
			"session",
			"oauth_grant",
		]),
		"What was revoked.",
		{
			member: "the membership of a person in the organization.",
			service_account: "a service account, with all its keys.",
			personal_api_key: "a key of a person.",
			service_account_key: "a key of a service account.",
			session: "a session of a person.",
			oauth_grant: "the access of an app.",
		},
	),
	id: z.guid().describe("Its id. In the log, it is `actor.key.id` of what a key has done."),
	user: z
		.guid()
		.nullable()
		.describe(
			"The uuid of the person or service account, which is `actor.uuid` in the log; null for keys.",
		),
});

/** What a request revokes. */
export type Revoked = z.infer<typeof Revoked>;

export const RevocationReceipt = z
	.object({
		revoked: Revoked.describe("What was revoked."),
		organization_id: z
			.guid()
			.nullable()
			.describe("The organization that it was revoked in; null if that is all of them."),
		entry_id: z.guid().describe("The log entry of the revocation."),
		position: z
			.int()
			.describe(
				"The position of this entry in the log. No entry with a higher position was caused by what was revoked.",
			),
		receipt: z
			.string()
			.describe(
				"The same, signed by the service: a JWS (RFC 7515), with a key of `/.well-known/jwks.json`.",
			),
	})
	.meta({ id: "RevocationReceipt" });

declare module "hono" {
	interface ContextVariableMap {
		/** The receipt of what the request has revoked, if the caller wants one. */
		receipt: z.infer<typeof RevocationReceipt> | undefined;
	}
}

/**
 * Returns the statements that a receipt needs, for the end of the batch of the revocation: its last
 * entry is the newest of all then. Returns undefined if the service can't sign.
 */
export const selectReceipt = (db: Database, env: Env) =>
	canSign(env)
		? {
				entry: db
					.select({ position: activityLog.position, id: entryId.as("entry_id") })
					.from(activityLog)
					.orderBy(desc(activityLog.position))
					.limit(1),
				signer: selectSigner(db),
			}
		: undefined;

type Made = {
	revoked: Revoked;
	organization_id: string | null;
	entry: { position: number; id: string } | undefined;
	signer: Signer | undefined;
};

/**
 * Signs the receipt of a revocation that was written. If that fails, there is none, as the
 * revocation can't be repeated.
 */
export async function newReceipt(env: Env, { revoked, organization_id, entry, signer }: Made) {
	if (!entry) return undefined;
	const facts = { revoked, organization_id, entry_id: entry.id, position: entry.position };
	try {
		const receipt = await sign(env, signer, "revocation-receipt+jwt", facts);
		return { ...facts, receipt };
	} catch (error) {
		logWarning("The receipt of a revocation was not signed", error);
		return undefined;
	}
}

/** 204 without a body or, with `Prefer: receipt`, 200 with the receipt of what was revoked. */
export const revokes = (text: Text) =>
	describeRoute(
		createMiddleware<App, string, BlankInput, Documenting<null, 204>>(async (c, next) => {
			await next();
			const receipt = c.get("receipt");
			if (!receipt) return;
			c.res = undefined;
			c.res = c.json(receipt, 200);
			applied(c, "receipt");
		}),
		{
			...{ status: 204, also: { 200: RevocationReceipt }, ...text },
			description: `${text.description} With \`Prefer: receipt\`, the response is a 200 with a signed receipt.`,
		},
	);
