import { cipherOf } from "../../auth/secrets.ts";
import type { webhooks } from "../../db/schema/webhooks.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { logWarning } from "../../lib/log.ts";

/** How long the previous secret also signs (docs/webhooks.md#rolling-the-secret). */
export const ROLL_MS = DAY_MS;

/** The field name with which secrets are encrypted, in both columns. */
const FIELD = "secret";

const cipher = (env: Env, id: string) => cipherOf(env, "webhooks", id);

/** Returns a new secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = () => `whsec_${crypto.getRandomValues(new Uint8Array(32)).toBase64()}`;

/** Encrypts a secret of the webhook with this id. */
export const sealSecret = (env: Env, id: string, secret: string) =>
	cipher(env, id).seal(FIELD, secret);

type Row = Pick<
	typeof webhooks.$inferSelect,
	"id" | "secret" | "previous_secret" | "previous_secret_expires_at"
>;

/** Returns the secrets that sign, newest first. Throws an error for the user. */
export async function openSecrets(env: Env, row: Row) {
	const { secret, previous_secret, previous_secret_expires_at: until } = row;
	const isRolling = until !== null && Date.parse(until) > Date.now();
	const sealed = [secret, ...(previous_secret && isRolling ? [previous_secret] : [])];
	try {
		return await Promise.all(sealed.map((text) => cipher(env, row.id).unseal(FIELD, text)));
	} catch (error) {
		logWarning("The secret of a webhook can't be decrypted", error, { webhook: row.id });
		throw new Error("The webhook's secret can't be decrypted. Roll it.");
	}
}
