import ip from "ipaddr.js";
import { boolean } from "../http/fields.ts";
import { type Failure, resolve } from "./resolve.ts";

/** Names that only a private network knows: of one label, or below one of these (RFC 6761, RFC 6762, ICANN's .internal). */
const PRIVATE = /^[^.]*$|(^|\.)(localhost|local|internal)$/;

/** The addresses of IPv6 that are given out at all (RFC 4291, 2.4). */
const ASSIGNED = ip.IPv6.parseCIDR("2000::/3");

/** What wraps an IPv4 address counts as that address, or as private. */
function isPublic(text: string) {
	const address = ip.process(text);
	if (address.range() !== "unicast") return false;
	return address.kind() === "ipv4" || address.match(ASSIGNED);
}

/** Whether this deployment lets its users go to private networks. */
const allowed = ({ ALLOW_PRIVATE_DESTINATIONS }: Env) =>
	boolean().catch(false).parse(ALLOW_PRIVATE_DESTINATIONS);

/** As `checkReach`: why it may not be reached, in words for a person; null: it may. */
export const resolveHost = async (env: Env, host: string): Promise<string | null> =>
	(await checkPublicHost(env, host))?.error ?? null;

/** A host that may not be reached, whatever is tried. */
const refusedAddress = (error: string): Failure => ({ error, retryable: false });

/**
 * Asks whether a host that a user names is on the internet, and not on a network that only this service sees. Names may
 * lead elsewhere a moment later: it is to be asked right before every request.
 * @param host a name or an address, as `URL.hostname` writes it; the brackets of IPv6 may be missing
 * @returns why it may not be reached; null: it may
 */
export async function checkPublicHost(env: Env, host: string): Promise<Failure | null> {
	if (allowed(env)) return null;
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
	const inward = addresses.find((address) => !isPublic(address));
	return inward === undefined
		? null
		: refusedAddress(`${host} leads to the private address ${inward}.`);
}
