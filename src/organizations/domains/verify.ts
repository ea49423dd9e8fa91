import { resolve } from "../../outbound/resolve.ts";

/** Whether a record is the challenge, with or without white space and quotes around it. */
const isChallenge = (text: string, challenge: string) =>
	text.includes(challenge) && !/[^\s"'\u201c\u201d]/.test(text.replace(challenge, ""));

/**
 * Looks up the challenge in the TXT records of `_tenantry-challenge.<domain>`.
 * @returns null if it was found; otherwise a sentence for the domain's owner, and whether the DNS
 * answered (`isAnswer`) or the resolver failed
 */
export async function lookUpChallenge(
	env: Env,
	domain: string,
	challenge: string,
): Promise<{ error: string; isAnswer: boolean } | null> {
	const name = `_tenantry-challenge.${domain}`;
	const records = await resolve(env, name, "TXT");
	if ("error" in records) return { error: records.error, isAnswer: false };
	const texts = records.flatMap((record) =>
		record.type === "TXT" ? [[record.data].flat().join("")] : [],
	);
	if (texts.some((text) => isChallenge(text, challenge))) return null;
	const missing = (error: string) => ({ error, isAnswer: true });
	if (texts.length === 0) return missing(`There is no TXT record at ${name}.`);
	const seen = texts.slice(0, 5).map((text) => JSON.stringify(text.slice(0, 100)));
	return missing(`No TXT record at ${name} is the challenge. Found: ${seen.join(", ")}.`);
}
