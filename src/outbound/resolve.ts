import type { Answer, DecodedPacket, RecordType } from "dns-packet";
import { within } from "../lib/within.ts";
import { sendRequest } from "./fetch.ts";

const TIMEOUT_MS = 3000;
const MESSAGE = "application/dns-message";

/** DNS response codes (RFC 1035, 4.1.1). */
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;
const CODES = ["", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];

/** The maximum lengths of a name and of each label (RFC 1035, 2.3.4). */
const MAX_NAME_BYTES = 253;
const MAX_LABEL_BYTES = 63;

/** `error` is a message for users. `retryable` tells whether a retry may succeed. */
export type Failure = { error: string; retryable: boolean };

/** The records (none if the name doesn't exist), and how many seconds they may be cached. */
type Answered = { records: Answer[]; ttl: number };

type Resolver = Pick<Env, "DOH_URL" | "APP_URL">;

/** Queries the resolver (DNS over HTTPS, RFC 8484). Returns records, or why there are none. */
export async function query(
	env: Resolver,
	name: string,
	type: "A" | "AAAA" | "TXT",
): Promise<Answered | Failure> {
	const invalid = whyInvalid(name);
	if (invalid !== null) return { error: invalid, retryable: false };
	const late = new Error(`The resolver did not answer within ${TIMEOUT_MS / 1000} seconds.`);
	const answer = await within(TIMEOUT_MS, late, (signal) => ask(env, name, type, signal)).catch(
		(error: unknown) =>
			error === late
				? late.message
				: "The resolver can't be reached, or its response isn't a DNS message.",
	);
	if (typeof answer === "string") return { error: answer, retryable: true };
	const code = (answer.flags ?? 0) & 0xf;
	if (code === NO_ERROR || code === NO_SUCH_NAME)
		return { records: answer.answers ?? [], ttl: ttlOf(answer, type) };
	return {
		error: `The resolver answered ${CODES[code] ?? `error ${code}`} for ${name}.`,
		retryable: true,
	};
}

/** Like `query`, but returns only the records. */
export async function resolve(...options: Parameters<typeof query>): Promise<Answer[] | Failure> {
	const answer = await query(...options);
	return "error" in answer ? answer : answer.records;
}

/** The shortest TTL in seconds: of the records, or of a negative response (RFC 2308, 5). */
function ttlOf({ answers = [], authorities = [] }: DecodedPacket, type: RecordType) {
	const ttls = answers.map((record) => ("ttl" in record ? (record.ttl ?? 0) : 0));
	if (answers.some((record) => record.type === type)) return Math.min(...ttls);
	const [soa] = authorities.filter((record) => record.type === "SOA");
	return Math.min(...ttls, soa?.ttl ?? 0, soa?.data.minimum ?? 0);
}

function whyInvalid(name: string): string | null {
	const bytes = (text: string) => new TextEncoder().encode(text).length;
	const labels = name.replace(/\.$/, "").split(".");
	if (labels.includes("")) return `The name ${name} has an empty label.`;
	if (labels.some((label) => bytes(label) > MAX_LABEL_BYTES))
		return `The name ${name} has a label of more than ${MAX_LABEL_BYTES} characters.`;
	return bytes(labels.join(".")) > MAX_NAME_BYTES
		? `The name ${name} has more than ${MAX_NAME_BYTES} characters.`
		: null;
}

async function ask(env: Resolver, name: string, type: RecordType, signal: AbortSignal) {
	const { default: dns } = await import("dns-packet");
	const request = new Request(env.DOH_URL, {
		method: "POST",
		headers: { accept: MESSAGE, "content-type": MESSAGE },
		body: dns.encode({ type: "query", flags: dns.RECURSION_DESIRED, questions: [{ type, name }] }),
	});
	const response = await sendRequest(env, request, { signal });
	if (!response.ok) return `The resolver answered with the HTTP status ${response.status}.`;
	return dns.decode(Buffer.from(await response.arrayBuffer()));
}
