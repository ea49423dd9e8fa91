import dns from "dns-packet";

const TIMEOUT_MS = 3000;
const MESSAGE = "application/dns-message";

/** Response codes of a DNS answer (RFC 1035, 4.1.1). */
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;
const CODES = ["", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];

/**
 * Asks a resolver over DNS-over-HTTPS (RFC 8484).
 * @returns the records of the answer, none where there is no such name; a text: what went wrong, in words
 */
export async function resolve(
	resolver: string,
	name: string,
	type: "A" | "AAAA" | "TXT",
): Promise<dns.Answer[] | string> {
	const answer = await ask(resolver, name, type).catch((error: unknown) =>
		error instanceof Error && error.name === "TimeoutError"
			? `The resolver did not answer within ${TIMEOUT_MS / 1000} seconds.`
			: "The resolver can't be reached, or what it answers is no DNS message.",
	);
	if (typeof answer === "string") return answer;
	const code = (answer.flags ?? 0) & 0xf;
	if (code !== NO_ERROR && code !== NO_SUCH_NAME)
		return `The resolver answered ${CODES[code] ?? `error ${code}`} for ${name}.`;
	return answer.answers ?? [];
}

/** Whether what went wrong is the resolver's own, and may pass. */
export const mayPass = (problem: string) => problem.startsWith("The resolver ");

/** The resolver's answer; a text where it refuses to answer at all. */
async function ask(resolver: string, name: string, type: dns.RecordType) {
	const answer = await fetch(resolver, {
		method: "POST",
		headers: { accept: MESSAGE, "content-type": MESSAGE },
		body: dns.encode({
			type: "query",
			flags: dns.RECURSION_DESIRED,
			questions: [{ type, name }],
		}),
		signal: AbortSignal.timeout(TIMEOUT_MS),
	});
	if (!answer.ok)
		return `The resolver answered with the HTTP status ${answer.status}.`;
	return dns.decode(Buffer.from(await answer.arrayBuffer()));
}
