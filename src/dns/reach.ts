import ip from "ipaddr.js";
import { boolean } from "../http/fields.ts";
import { type Failure, resolve } from "./resolve.ts";

/**
 * Names of private networks: a single label, or below one of these domains (RFC 6761, RFC 6762,
 * ICANN's .internal).
 */
const PRIVATE = /^[^.]*$|(^|\.)(localhost|local|internal)$/;

/** The IPv6 range for global unicast addresses (RFC 4291, 2.4). */
const ASSIGNED = ip.IPv6.parseCIDR("2000::/3");

/**
 * Whether an address is public. An IPv6 address that embeds an IPv4 address counts as that, or as
 * private.
 */
function isPublic(text: string) {
	const address = ip.process(text);
	if (address.range() !== "unicast") return false;
	return address.kind() === "ipv4" || address.match(ASSIGNED);
}

/** Whether this deployment allows connections to private networks. */
const allowsPrivate = ({ ALLOW_PRIVATE_DESTINATIONS }: Env) =>
	boolean().catch(false).parse(ALLOW_PRIVATE_DESTINATIONS);

/** Like `checkPublicHost`, but returns only the message. */
export const resolveHost = async (env: Env, host: string): Promise<string | null> =>
	(await checkPublicHost(env, host))?.error ?? null;

/** A failure that a retry can't fix. */
const refusedAddress = (error: string): Failure => ({ error, retryable: false });

/**
 * Checks that a host named by a user is on the public internet, not in a private network. A name
 * may resolve to another address a moment later, so call this right before every request.
 * @param host a name or an address, as in `URL.hostname`; the brackets of IPv6 are optional
 * @returns why connecting is not allowed; null if it is
 */
export async function checkPublicHost(env: Env, host: string): Promise<Failure | null> {
	if (allowsPrivate(env)) return null;
	const name = host
		.replace(/^\[(.*)\]$/, "$1")
		.replace(/\.$/, "")
		.toLowerCase();
	if (ip.isValid(name))
		return isPublic(name) ? null : refusedAddress(`${host} is a private address.`);
	if (PRIVATE.test(name)) return refusedAddress(`${host} is a name of a private network.`);
	const answers = await Promise.all([
		resolve(env.DOH_URL, name, "A"),
		resolve(env.DOH_URL, name, "AAAA"),
	]);
	const addresses: string[] = [];
	for (const answer of answers) {
		if ("error" in answer) return answer;
		for (const record of answer)
			if (record.type === "A" || record.type === "AAAA") addresses.push(record.data);
	}
	if (addresses.length === 0)
		return refusedAddress(`The name ${host} doesn't lead to any address.`);
	const privateAddress = addresses.find((address) => !isPublic(address));
	return privateAddress === undefined
		? null
		: refusedAddress(`${host} leads to the private address ${privateAddress}.`);
}
