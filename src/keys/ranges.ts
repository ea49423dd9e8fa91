import ip from "ipaddr.js";

/*
 * IP addresses and ranges of them (CIDR, RFC 4632 and RFC 4291). An IPv4 address in IPv6 notation
 * (`::ffff:192.0.2.7`) is treated as IPv4.
 */

/** A range: all addresses that begin with these bits. */
type Range = { kind: "ipv4" | "ipv6"; bits: string };

const LENGTH = { ipv4: 32, ipv6: 128 };

/** The bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const MAPPED = `${"0".repeat(80)}${"1".repeat(16)}`;

const bitsOf = (address: ip.IPv4 | ip.IPv6) =>
	address
		.toByteArray()
		.map((byte) => byte.toString(2).padStart(8, "0"))
		.join("");

/** Parses an address, without notations such as 127.1 and fe80::1%eth0. */
function parseAddress(text: string): Range | undefined {
	if (ip.IPv4.isValidFourPartDecimal(text))
		return { kind: "ipv4", bits: bitsOf(ip.IPv4.parse(text)) };
	if (!text.includes(":") || text.includes("%") || !ip.IPv6.isValid(text)) return undefined;
	return { kind: "ipv6", bits: bitsOf(ip.IPv6.parse(text)) };
}

/** Parses an address or a range such as 192.0.2.0/24; undefined if the text is neither. */
function parse(text: string): Range | undefined {
	const [address = "", suffix, ...rest] = text.split("/");
	const range = parseAddress(address);
	if (!range || rest.length > 0) return undefined;
	if (suffix !== undefined && !/^\d{1,3}$/.test(suffix)) return undefined;
	if (Number(suffix ?? 0) > LENGTH[range.kind]) return undefined;
	const bits = suffix === undefined ? range.bits : range.bits.slice(0, Number(suffix));
	return range.kind === "ipv6" && bits.startsWith(MAPPED)
		? { kind: "ipv4", bits: bits.slice(MAPPED.length) }
		: { kind: range.kind, bits };
}

function format({ kind, bits }: Range) {
	const bytes = bits
		.padEnd(LENGTH[kind], "0")
		.match(/.{8}/g)
		?.map((byte) => Number.parseInt(byte, 2));
	return ip.fromByteArray(bytes ?? []).toString();
}

/**
 * Returns the canonical form of an address or range, in which it is stored: `192.0.2.7/24` becomes
 * `192.0.2.0/24`.
 * @returns undefined if the text is neither
 */
export function normalize(text: string) {
	const range = parse(text);
	if (!range) return undefined;
	const address = format(range);
	return range.bits.length === LENGTH[range.kind] ? address : `${address}/${range.bits.length}`;
}

/** Whether one of `ranges` includes the whole address or range. */
export function includes(ranges: string[], text: string) {
	const inner = parse(text);
	return ranges.some((range) => {
		const outer = parse(range);
		return outer && outer.kind === inner?.kind && inner.bits.startsWith(outer.bits);
	});
}

/** Returns what counts as one requester: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string) {
	const canonical = normalize(address) ?? address;
	return canonical.includes(":") ? (normalize(`${canonical}/64`) ?? canonical) : canonical;
}
