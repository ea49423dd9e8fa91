import { and, eq, isNull, sql } from "drizzle-orm";
import type { Context } from "hono";
import type * as z from "zod";
import { retry } from "../../access/retry.ts";
import { selectMadeDue, wake } from "../../access/wake.ts";
import { insertWhere, runBatch } from "../../db/client.ts";
import { record } from "../../db/record.ts";
import { signIns } from "../../db/schema/sign_in.ts";
import { twoFactors } from "../../db/schema/two_factor.ts";
import type { App } from "../../env.ts";
import { cipherFor } from "../two_factor/proof.ts";
import type { TwoFactorSetup } from "../two_factor/shape.ts";
import { newSecret, otpauthUrl } from "../two_factor/totp.ts";
import { codeRequired } from "./complete.ts";
import { findSignIn } from "./find.ts";
import { isOpen } from "./rules.ts";

/**
 * Creates the secret of a second factor for a user who has a link, but no second factor yet. It
 * becomes valid when the link is completed with one of its codes. Replaces an earlier secret.
 * @throws 400 if the user has a second factor, and the errors of `findSignIn`
 */
export const setUp = (c: Context<App>, token: string): Promise<z.infer<typeof TwoFactorSetup>> =>
	retry(async () => {
		const { db, link, user, factor } = await findSignIn(c, token);
		if (factor.enabled_at !== null) throw codeRequired();
		const secret = await newSecret();
		const sealed = await cipherFor(c.env, user.id).seal("secret", secret);
		const theLink = sql`exists (select 1 from ${signIns} where ${and(eq(signIns.id, link.id), isOpen())})`;
		const { stored, due } = await runBatch(db, {
			stored: insertWhere(db, twoFactors, { user_id: user.id, secret: sealed }, theLink)
				.onConflictDoUpdate({
					target: twoFactors.user_id,
					set: { secret: sealed },
					setWhere: isNull(twoFactors.confirmed_at),
				})
				.returning({ user_id: twoFactors.user_id }),
			entry: record(db, {
				activity: "begun",
				scope: "TwoFactor",
				item_id: user.uuid,
				name: user.email,
				user_id: user.id,
				organization: link.organization_id,
				project: null,
			}),
			due: selectMadeDue(c.env, db, link.organization_id),
		});
		if (stored.length === 0) return undefined;
		c.executionCtx.waitUntil(wake(c.env, due));
		return { secret, otpauth_url: await otpauthUrl(secret, user.email) };
	});
