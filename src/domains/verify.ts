import { resolve } from "../dns/resolve.ts";

/**
 * Looks for the challenge in the TXT records of `_tenantry-challenge.<domain>`.
 * @returns the problem, as a sentence for the domain's owner; null if the challenge was found
 */
export async function findChallenge(
	resolver: string,
	domain: string,
	challenge: string,
): Promise<string | null> {
	const name = `_tenantry-challenge.${domain}`;
	const records = await resolve(resolver, name, "TXT");
	if ("error" in records) return records.error;
	const texts = records.flatMap((record) =>
		record.type === "TXT" ? [[record.data].flat().join("")] : [],
	);
	if (texts.includes(challenge)) return null;
	if (texts.length === 0) return `There is no TXT record at ${name}.`;
	const seen = texts.slice(0, 5).map((text) => JSON.stringify(text.slice(0, 100)));
	return `No TXT record at ${name} is the challenge. Found: ${seen.join(", ")}.`;
}
