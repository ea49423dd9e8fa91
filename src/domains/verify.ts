import dns from "dns-packet";

const TIMEOUT_MS = 3000;
const MESSAGE = "application/dns-message";

/** Response codes of a DNS answer (RFC 1035, 4.1.1). */
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;
const CODES = ["", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];

/**
 * Looks for the challenge in the TXT records of `_tenantry-challenge.<domain>`, over DNS-over-HTTPS (RFC 8484).
 * @returns what stands in the way, in words for the domain's owner; null: the challenge is there
 */
export async function findChallenge(
	resolver: string,
	domain: string,
	challenge: string,
): Promise<string | null> {
	const name = `_tenantry-challenge.${domain}`;
	const answer = await ask(resolver, name).catch((error: unknown) =>
		error instanceof Error && error.name === "TimeoutError"
			? `The resolver did not answer within ${TIMEOUT_MS / 1000} seconds.`
			: "The resolver can't be reached, or what it answers is no DNS message.",
	);
	if (typeof answer === "string") return answer;
	const code = (answer.flags ?? 0) & 0xf;
	if (code !== NO_ERROR && code !== NO_SUCH_NAME)
		return `The resolver answered ${CODES[code] ?? `error ${code}`} for ${name}.`;
	const texts = (answer.answers ?? []).flatMap((record) =>
		record.type === "TXT" ? [[record.data].flat().join("")] : [],
	);
	if (texts.includes(challenge)) return null;
	if (texts.length === 0) return `There is no TXT record at ${name}.`;
	const seen = texts
		.slice(0, 5)
		.map((text) => JSON.stringify(text.slice(0, 100)));
	return `No TXT record at ${name} is the challenge. Found: ${seen.join(", ")}.`;
}

/** The answer to a question for TXT records; a text where the resolver refuses to answer at all. */
async function ask(resolver: string, name: string) {
	const answer = await fetch(resolver, {
		method: "POST",
		headers: { accept: MESSAGE, "content-type": MESSAGE },
		body: dns.encode({
			type: "query",
			flags: dns.RECURSION_DESIRED,
			questions: [{ type: "TXT", name }],
		}),
		signal: AbortSignal.timeout(TIMEOUT_MS),
	});
	if (!answer.ok)
		return `The resolver answered with the HTTP status ${answer.status}.`;
	return dns.decode(Buffer.from(await answer.arrayBuffer()));
}
