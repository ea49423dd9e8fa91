import { invalid } from "../http/errors.ts";
import { fromBase64url, toBase64url } from "../lib/bytes.ts";

const PREFIX = "sealed:";

/** Replaces secret values in responses. In a request, it keeps the stored value. */
export const MASK = "**************** SECRET ****************";

/** Where an encrypted value is stored. It can't be decrypted anywhere else. */
type Place = { table: string; row: string | number; field: string };

const encoder = new TextEncoder();

const additionalData = ({ table, row, field }: Place) =>
	encoder.encode(JSON.stringify([table, row, field]));

/** Returns the keys of `SECRETS_KEY`, newest first. A key's name is derived from the key. */
async function keys(env: Env) {
	const texts = (env.SECRETS_KEY ?? "").split(",").map((text) => text.trim());
	return Promise.all(
		texts.filter(Boolean).map(async (text) => {
			const bytes = Uint8Array.fromBase64(text);
			const digest = await crypto.subtle.digest("SHA-256", bytes);
			const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, [
				"encrypt",
				"decrypt",
			]);
			return { name: toBase64url(new Uint8Array(digest).slice(0, 6)), bytes, key };
		}),
	);
}

/**
 * Encrypts a secret for the database, using AES-GCM and the newest key. The key's name is stored
 * with the value. The place is additional authenticated data, so a copy of the value in another row
 * or field can't be decrypted.
 * @throws 400 if `SECRETS_KEY` isn't set
 */
export async function seal(env: Env, secret: string, place: Place) {
	const [newest] = await keys(env);
	if (!newest) throw invalid(null, "Secrets can't be stored: SECRETS_KEY is not configured.");
	const iv = crypto.getRandomValues(new Uint8Array(12));
	const sealed = await crypto.subtle.encrypt(
		{ name: "AES-GCM", iv, additionalData: additionalData(place) },
		newest.key,
		encoder.encode(secret),
	);
	const parts = [newest.name, toBase64url(iv), toBase64url(new Uint8Array(sealed))];
	return PREFIX + parts.join(":");
}

const SEALED = /^sealed:[\w-]{8}:[\w-]{16}:[\w-]{22,}$/;

/** Whether a value has the format of `seal`. Clients can send such values, too. */
export const isSealed = (value: unknown): value is string =>
	typeof value === "string" && SEALED.test(value);

/**
 * Decrypts a value that `seal` encrypted for this place.
 * @throws if its key isn't in `SECRETS_KEY` anymore, or it was encrypted for another place
 */
export async function unseal(env: Env, sealed: string, place: Place) {
	const [, name, iv = "", data = ""] = sealed.split(":");
	const match = (await keys(env)).find((key) => key.name === name);
	if (!match) throw new Error(`No key of SECRETS_KEY has the name ${name}.`);
	const secret = await crypto.subtle.decrypt(
		{ name: "AES-GCM", iv: fromBase64url(iv), additionalData: additionalData(place) },
		match.key,
		fromBase64url(data),
	);
	return new TextDecoder().decode(secret);
}

/** Encrypts and decrypts the fields of one row. */
export const cipherOf = (env: Env, table: string, row: Place["row"]) => ({
	seal: (field: string, secret: string) => seal(env, secret, { table, row, field }),
	unseal: (field: string, sealed: string) => unseal(env, sealed, { table, row, field }),
});

export type Cipher = ReturnType<typeof cipherOf>;

/**
 * Returns keyed digests of a text, for finding it again without storing it: one HMAC-SHA256 for
 * each key of `SECRETS_KEY`, newest first. The HMAC keys are derived for this purpose (HKDF). Each
 * digest contains the name of its key.
 */
export const digests = async (env: Env, purpose: string, text: string) =>
	Promise.all(
		(await keys(env)).map(async ({ name, bytes }) => {
			const key = await crypto.subtle.deriveKey(
				{
					name: "HKDF",
					hash: "SHA-256",
					salt: new Uint8Array(),
					info: encoder.encode(purpose),
				},
				await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]),
				{ name: "HMAC", hash: "SHA-256", length: 256 },
				false,
				["sign"],
			);
			const digest = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
			return `hmac:${name}:${toBase64url(new Uint8Array(digest))}`;
		}),
	);

/** Shorter secrets aren't redacted, since they occur in ordinary words. */
const MIN_SECRET_LENGTH = 4;

/** Returns the forms of secrets in a text, plain and JSON-escaped, longest first. */
export const variants = (secrets: string[]) =>
	[...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))]
		.filter((secret) => secret.length >= MIN_SECRET_LENGTH)
		.sort((a, b) => b.length - a.length);

/** Returns a function that replaces secrets in a text with asterisks. */
export function redactor(secrets: string[]) {
	const hidden = variants(secrets);
	return (text: string) => hidden.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);
}
