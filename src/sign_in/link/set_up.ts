import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import type * as z from "zod";
import { commit, retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import { isOpen, signIns } from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { cipherFor, hasFactor, isEnabled, proofRequired, storeSecret } from "../totp/proof.ts";
import type { TwoFactorSetup } from "../totp/shape.ts";
import { newSecret, otpauthUrl } from "../totp/totp.ts";
import { findSignIn } from "./find.ts";

/**
 * Creates the secret of a second factor for a user who has a link, but no second factor yet. It
 * becomes valid when the link is completed with one of its codes. Replaces an earlier secret.
 * @throws 400 if the user has a second factor, and the errors of `findSignIn`
 */
export const setUp = (c: Context<App>, token: string): Promise<z.infer<typeof TwoFactorSetup>> =>
	retry(async () => {
		const { db, link, user, factor } = await findSignIn(c, token);
		if (hasFactor(factor)) throw proofRequired();
		const secret = await newSecret();
		const sealed = await cipherFor(c.env, user.id).seal("secret", secret);
		await commit(
			c.env,
			db,
			{
				checks: [
					assertExists(db, signIns, and(eq(signIns.id, link.id), isOpen())),
					assertThat(db, sql`not ${isEnabled(user.id)}`, "is_current"),
				],
				changes: [storeSecret(db, user.id, sealed)],
				entries: [
					{
						activity: "begun",
						scope: "TwoFactor",
						item_id: user.uuid,
						name: user.email,
						user_id: user.id,
						organization: link.organization_id,
						project: null,
					},
				],
			},
			c,
		);
		return { secret, otpauth_url: await otpauthUrl(secret, user.email) };
	});
