import { invalid } from "../http/errors.ts";

const PREFIX = "sealed";

const decode = (text: string) =>
	Uint8Array.fromBase64(text, { alphabet: "base64url" });
const encode = (bytes: Uint8Array) =>
	bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** The keys of `SECRETS_KEY`, the newest first, each by a name that is made of it. */
async function keys(env: Env) {
	const texts = (env.SECRETS_KEY ?? "").split(",").map((text) => text.trim());
	return Promise.all(
		texts.filter(Boolean).map(async (text) => {
			const bytes = Uint8Array.fromBase64(text);
			const digest = await crypto.subtle.digest("SHA-256", bytes);
			const key = await crypto.subtle.importKey(
				"raw",
				bytes,
				"AES-GCM",
				false,
				["encrypt", "decrypt"],
			);
			return { name: encode(new Uint8Array(digest).slice(0, 6)), key };
		}),
	);
}

/** Encrypts a secret for the database: AES-GCM with the newest key, whose name is kept with it. */
export async function seal(env: Env, secret: string) {
	const [newest] = await keys(env);
	if (!newest)
		throw invalid(
			null,
			"Secrets can't be kept: SECRETS_KEY is not configured.",
		);
	const iv = crypto.getRandomValues(new Uint8Array(12));
	const data = new TextEncoder().encode(secret);
	const sealed = await crypto.subtle.encrypt(
		{ name: "AES-GCM", iv },
		newest.key,
		data,
	);
	return [PREFIX, newest.name, encode(iv), encode(new Uint8Array(sealed))].join(
		":",
	);
}

const FORM = /^sealed:[\w-]{8}:[\w-]{16}:[\w-]{22,}$/;

/** Whether `seal` made it, by its form. What comes from outside and has that form is sealed itself before it is kept. */
export const isSealed = (value: unknown): value is string =>
	typeof value === "string" && FORM.test(value);

/** What `seal` encrypted, with whichever key it did; an error without one. */
export async function unseal(env: Env, sealed: string) {
	const [, name, iv = "", data = ""] = sealed.split(":");
	const match = (await keys(env)).find((key) => key.name === name);
	if (!match) throw new Error(`No key of SECRETS_KEY is called ${name}.`);
	const secret = await crypto.subtle.decrypt(
		{ name: "AES-GCM", iv: decode(iv) },
		match.key,
		decode(data),
	);
	return new TextDecoder().decode(secret);
}

/** Shorter secrets can't be told from words. */
const SHORTEST = 4;

/** What secrets look like in a text, also within JSON; the longest first. */
export const looks = (secrets: string[]) =>
	[
		...new Set(
			secrets.flatMap((secret) => [
				secret,
				JSON.stringify(secret).slice(1, -1),
			]),
		),
	]
		.filter((secret) => secret.length >= SHORTEST)
		.sort((a, b) => b.length - a.length);

/** What replaces secrets in a text by asterisks. */
export function hiding(secrets: string[]) {
	const hidden = looks(secrets);
	return (text: string) =>
		hidden.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);
}
