import type { webhooks } from "../../db/schema/webhooks.ts";
import { cipherOf } from "../../keys/secrets.ts";
import { logWarning } from "../../lib/log.ts";

/** The field names with which secrets are encrypted. The first one is that of both columns. */
const FIELD = "secret";
const ROUTING_KEY = "routing_key";

const cipher = (env: Env, id: string) => cipherOf(env, "webhooks", id);

/** Returns a new secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = () => `whsec_${crypto.getRandomValues(new Uint8Array(32)).toBase64()}`;

/** Encrypts a secret of the webhook with this id. */
export const sealSecret = (env: Env, id: string, secret: string) =>
	cipher(env, id).seal(FIELD, secret);

/** Encrypts the routing key of the webhook with this id; null if it has none. */
export const sealRoutingKey = async (env: Env, id: string, key: string | undefined) =>
	key === undefined ? null : cipher(env, id).seal(ROUTING_KEY, key);

type Row = typeof webhooks.$inferSelect;

type Secrets = {
	/** The secrets that sign, newest first. */
	signing: string[];
	routing_key: string | null;
};

/** Where and how events are sent. The secrets reject with an error for the user. */
export type Endpoint = Pick<Row, "url" | "format" | "has_origin"> & { secrets: Promise<Secrets> };

async function openSecrets(env: Env, row: Omit<Row, "deliveries">): Promise<Secrets> {
	const { secret, previous_secret, previous_secret_expires_at: until, routing_key } = row;
	const isRolling = until !== null && Date.parse(until) > Date.now();
	const sealed = [secret, ...(previous_secret && isRolling ? [previous_secret] : [])];
	const { unseal } = cipher(env, row.id);
	try {
		return {
			signing: await Promise.all(sealed.map((text) => unseal(FIELD, text))),
			routing_key: routing_key && (await unseal(ROUTING_KEY, routing_key)),
		};
	} catch (error) {
		logWarning("The secrets of a webhook can't be decrypted", error, { webhook: row.id });
		const advice = routing_key ? "Add the webhook again." : "Roll it.";
		throw new Error(`The webhook's secret can't be decrypted. ${advice}`);
	}
}

/** Returns the endpoint of a webhook. Its secrets are decrypted once. */
export function endpointOf(env: Env, row: Omit<Row, "deliveries">): Endpoint {
	const secrets = openSecrets(env, row);
	// Each attempt reports the error; there may be none.
	secrets.catch(() => {});
	const { url, format, has_origin } = row;
	return { url, format, has_origin, secrets };
}
