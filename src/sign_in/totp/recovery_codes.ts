import { digests } from "../../keys/secrets.ts";

const CODES = 10;

/** Crockford's base32, which has no letters that look like digits. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

function newCode() {
	const bytes = crypto.getRandomValues(new Uint8Array(10));
	const text = Array.from(bytes, (byte) => DIGITS.charAt(byte % DIGITS.length)).join("");
	return `${text.slice(0, 5)}-${text.slice(5)}`;
}

/** Creates recovery codes of 50 random bits each, such as `7k2mq-x9d4t`. */
export const newRecoveryCodes = () => Array.from({ length: CODES }, newCode);

/** Converts typed input to the original code. */
const normalize = (code: string) =>
	code.toLowerCase().replace(/[\s-]/g, "").replaceAll("o", "0").replace(/[il]/g, "1");

/** The digests under which a code may be stored: one for each `SECRETS_KEY`, newest first. */
export const digestsOf = (env: Env, user_id: number, code: string) =>
	digests(env, "recovery_codes", JSON.stringify([user_id, normalize(code)]));

export const rowsOf = (env: Env, user_id: number, codes: string[]) =>
	Promise.all(
		codes.map(async (code) => {
			const [digest = ""] = await digestsOf(env, user_id, code);
			return { user_id, digest };
		}),
	);
