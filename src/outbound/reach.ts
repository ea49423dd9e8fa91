import ip from "ipaddr.js";
import { boolean } from "../http/fields.ts";
import { type Failure, query } from "./resolve.ts";

/** Private names: a single label, or below these domains (RFC 6761, RFC 6762, .internal). */
const PRIVATE = /^[^.]*$|(^|\.)(localhost|local|internal)$/;

/** The IPv6 range for global unicast addresses (RFC 4291, 2.4). */
const ASSIGNED = ip.IPv6.parseCIDR("2000::/3");

/** Whether an address is public. IPv4 addresses in IPv6 count as such, or as private. */
function isPublic(text: string) {
	const address = ip.process(text);
	if (address.range() !== "unicast") return false;
	return address.kind() === "ipv4" || address.match(ASSIGNED);
}

/** Whether this deployment allows connections to private networks. */
export const allowsPrivate = ({ ALLOW_PRIVATE_DESTINATIONS }: Env) =>
	boolean().catch(false).parse(ALLOW_PRIVATE_DESTINATIONS);

/** A failure that a retry can't resolve. */
const rejected = (error: string): Failure => ({ error, retryable: false });

/** How long the check of a host is valid, in seconds: the shortest TTL of the responses. */
type Public = { ttl: number };

async function lookUp(env: Env, host: string): Promise<Failure | Public> {
	const name = host
		.replace(/^\[(.*)\]$/, "$1")
		.replace(/\.$/, "")
		.toLowerCase();
	if (ip.isValid(name))
		return isPublic(name) ? { ttl: Infinity } : rejected(`${host} is a private address.`);
	if (PRIVATE.test(name)) return rejected(`${host} is a name of a private network.`);
	const answers = await Promise.all([query(env, name, "A"), query(env, name, "AAAA")]);
	const addresses: string[] = [];
	let ttl = Infinity;
	for (const answer of answers) {
		if ("error" in answer) return answer;
		ttl = Math.min(ttl, answer.ttl);
		for (const record of answer.records)
			if (record.type === "A" || record.type === "AAAA") addresses.push(record.data);
	}
	if (addresses.length === 0) return rejected(`The name ${host} has no address.`);
	const privateAddress = addresses.find((address) => !isPublic(address));
	return privateAddress === undefined
		? { ttl }
		: rejected(`${host} resolves to the private address ${privateAddress}.`);
}

/**
 * Checks that a host that a user named is on the public internet, not in a private network. It can
 * resolve to another address a moment later, so call this right before every request, or use
 * `publicHosts`.
 * @param host as in `URL.hostname`; the brackets of IPv6 addresses are optional
 * @returns why connecting is not allowed; null if it is allowed
 */
export const checkPublicHost = (env: Env, host: string) => publicHosts(env).check(host);

/** Results are cached for their TTL in seconds, unless it is shorter than MIN_TTL. */
const MIN_TTL = 5;
const MAX_TTL = 60;

/**
 * Like `checkPublicHost`, for all requests of one object such as a destination. Caches that a host
 * is public while the resolver would repeat its response anyway
 * (docs/keys.md#addresses-that-users-name).
 */
export function publicHosts(env: Env) {
	/** When each cached result expires, in milliseconds since 1970. */
	const expiries = new Map<string, number>();
	return {
		async check(host: string): Promise<Failure | null> {
			if (allowsPrivate(env) || (expiries.get(host) ?? 0) > Date.now()) return null;
			const asked = Date.now();
			const result = await lookUp(env, host);
			if ("error" in result) return result;
			if (result.ttl >= MIN_TTL) expiries.set(host, asked + Math.min(result.ttl, MAX_TTL) * 1000);
			return null;
		},
		/** Makes the next check query the resolver again. */
		forget(host: string) {
			expiries.delete(host);
		},
	};
}
