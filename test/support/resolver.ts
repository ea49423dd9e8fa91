import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import dns from "dns-packet";
import { findProgram, freePort, listen, onDemand, startServer } from "./peers.ts";

/** The verification challenge of every domain in the zones. */
const CHALLENGE = "challenge-challenge-challenge-challenge-123";

/** In seconds. */
const TTL = 60;

const challenges = (label: string, ...texts: string[][]) =>
	texts.map((data) => ({
		name: `_tenantry-challenge.${label}.example.test`,
		type: "TXT" as const,
		data,
		ttl: TTL,
	}));

const address = (name: string, type: "A" | "AAAA" | "CNAME", data: string, ttl = TTL) => ({
	name,
	type,
	data,
	ttl,
});

/**
 * The zones and their records. Queries for other names are rejected. Queries for `FAILING` and the
 * names under it fail.
 */
const ZONES = ["example.test", "alias.test", "receiver.test"];
const FAILING = "servfail.example.test";
const RECORDS = [
	...challenges("right", [CHALLENGE]),
	...challenges("wrong", ["something else"]),
	...challenges("several", ["v=spf1 -all"], [CHALLENGE]),
	...challenges("split", [CHALLENGE.slice(0, 10), CHALLENGE.slice(10)]),
	...challenges("quoted", [`"${CHALLENGE}"`]),
	...challenges("spaced", [" \t“", CHALLENGE, "”\n"]),
	...challenges("part", [`x${CHALLENGE}`]),
	address("_tenantry-challenge.nodata.example.test", "A", "192.0.2.1"),
	address("public.example.test", "A", "1.1.1.1"),
	address("public.example.test", "AAAA", "2606:4700::1111"),
	address("inside.example.test", "A", "10.0.0.5"),
	address("partly.example.test", "A", "1.1.1.1"),
	address("partly.example.test", "AAAA", "::ffff:169.254.169.254"),
	address("www.alias.test", "CNAME", "more.alias.test"),
	address("more.alias.test", "CNAME", "inside.alias.test"),
	address("inside.alias.test", "A", "10.0.0.5"),
	// The tests' worker can reach these. They are this machine.
	address("both.receiver.test", "A", "1.1.1.1"),
	address("both.receiver.test", "AAAA", "2606:4700::1111"),
	address("legacy.receiver.test", "A", "1.1.1.1"),
	address("lasting.receiver.test", "A", "1.1.1.1", 3600),
	address("lasting.receiver.test", "AAAA", "2606:4700::1111", 3600),
	address("fleeting.receiver.test", "A", "1.1.1.1", 0),
	address("fleeting.receiver.test", "AAAA", "2606:4700::1111"),
];

const NO_ERROR = 0;
const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;
const REFUSED = 5;

const isBelow = (name: string, zone: string) => name === zone || name.endsWith(`.${zone}`);

/** Decodes a message; undefined if it is malformed. */
export function decoded(bytes: Buffer) {
	try {
		return dns.decode(bytes);
	} catch {
		return undefined;
	}
}

/** Returns the response of a recursive resolver that knows only these zones. */
function lookUp({ name: asked, type }: dns.Question) {
	const name = asked.toLowerCase();
	if (isBelow(name, FAILING)) return { code: SERVER_FAILURE, answers: [] };
	if (!ZONES.some((zone) => isBelow(name, zone))) return { code: REFUSED, answers: [] };
	if (!RECORDS.some((record) => isBelow(record.name, name)))
		return { code: NO_SUCH_NAME, answers: [] };
	const answers: dns.Answer[] = [];
	let target = name;
	for (const record of RECORDS) {
		if (record.name !== target) continue;
		// An alias comes before its target in the table.
		if (record.type === "CNAME") target = record.data;
		if (record.type === "CNAME" || record.type === type) answers.push(record as dns.Answer);
	}
	return { code: NO_ERROR, answers };
}

/** Returns the record that limits how long a negative response may be cached (RFC 2308). */
const authorityOf = (name: string): dns.Answer => ({
	name,
	type: "SOA",
	ttl: TTL,
	data: {
		mname: `ns.${name}`,
		rname: `nobody.${name}`,
		serial: 1,
		refresh: TTL,
		retry: TTL,
		expire: TTL,
		minimum: TTL,
	},
});

/**
 * Responds to DNS over HTTPS (RFC 8484, POST) from the table above. A GET returns the questions
 * that were posted to the same URL, including its query string.
 */
async function stub() {
	const asked = new Map<string, string[]>();
	const server = createServer((request, response) => {
		const { url = "" } = request;
		if (request.method === "GET") {
			response.end(JSON.stringify(asked.get(url) ?? []));
			return;
		}
		const chunks: Uint8Array[] = [];
		request.on("data", (chunk) => chunks.push(chunk));
		request.on("end", () => {
			const { id = 0, questions = [] } = decoded(Buffer.concat(chunks)) ?? {};
			const [question] = questions;
			if (!question) return response.writeHead(400).end();
			const { code, answers } = lookUp(question);
			asked.set(url, [...(asked.get(url) ?? []), `${question.name} ${question.type}`]);
			const zone = ZONES.find((zone) => isBelow(question.name, zone));
			return response.setHeader("content-type", "application/dns-message").end(
				dns.encode({
					type: "response",
					id,
					flags: dns.RECURSION_DESIRED | dns.RECURSION_AVAILABLE | code,
					questions,
					answers,
					authorities: zone && answers.length === 0 ? [authorityOf(zone)] : [],
				}),
			);
		});
	});
	return `http://127.0.0.1:${await listen(server)}/dns-query`;
}

/** Writes a text as a zone file does (RFC 1035, 5.1). */
const quoted = (text: string) =>
	`"${Array.from(Buffer.from(text), (byte) => `\\${`${byte}`.padStart(3, "0")}`).join("")}"`;

const line = ({ name, type, data, ttl }: (typeof RECORDS)[number]) =>
	`${name}. ${ttl} IN ${type} ${
		type === "TXT" ? data.map(quoted).join(" ") : type === "CNAME" ? `${data}.` : data
	}`;

const UNBOUND = (port: number, folder: string) => `
server:
  interface: 127.0.0.1@${port}
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  verbosity: 0
  do-not-query-localhost: no
  local-zone: "." refuse
${ZONES.map((zone) => `  local-zone: "${zone}." transparent`).join("\n")}
remote-control:
  control-enable: no
${ZONES.map(
	(zone) => `
auth-zone:
  name: "${zone}."
  zonefile: "${folder}/${zone}"
  for-upstream: no
`,
).join("")}`;

const ZONE = (zone: string) => `
${zone}. 60 IN SOA ns.${zone}. nobody.${zone}. 1 60 60 60 60
${zone}. 60 IN NS ns.${zone}.
${RECORDS.filter(({ name }) => isBelow(name, zone))
	.map(line)
	.join("\n")}
`;

const DNSDIST = (port: number, doh: number, unbound: number) => `
setSecurityPollSuffix("")
setLocal("127.0.0.1:${port}")
newServer({address="127.0.0.1:${unbound}", healthCheckMode="up"})
addAction("${FAILING}.", RCodeAction(DNSRCode.SERVFAIL))
addDOHLocal("127.0.0.1:${doh}", nil, nil, "/dns-query")
`;

/**
 * Starts unbound with the same records as the stub, behind dnsdist, which provides HTTPS. Returns
 * "" if they aren't installed.
 */
async function realResolver() {
	const [unbound, dnsdist] = ["unbound", "dnsdist"].map(findProgram);
	if (!unbound || !dnsdist) return "";
	const port = await onDemand("The resolver", async () => {
		const upstream = await startServer("unbound", (port, folder) => {
			writeFileSync(`${folder}/unbound.conf`, UNBOUND(port, folder));
			for (const zone of ZONES) writeFileSync(`${folder}/${zone}`, ZONE(zone));
			return [unbound, "-d", "-c", `${folder}/unbound.conf`];
		});
		return startServer("dnsdist", async (port, folder) => {
			const config = `${folder}/dnsdist.conf`;
			writeFileSync(config, DNSDIST(await freePort(), port, upstream));
			return [dnsdist, "--supervised", "-C", config];
		});
	});
	return `http://127.0.0.1:${port}/dns-query`;
}

/**
 * Starts a stub resolver, a real one with the same records, a server that never responds, and one
 * that closes every connection.
 */
export async function resolvers() {
	const [silent, closing] = await Promise.all([
		listen(createTcpServer(() => {})),
		listen(createTcpServer((socket) => socket.resetAndDestroy())),
	]);
	return {
		DOH_URL: await stub(),
		DOH_REAL: await realResolver(),
		DOH_SILENT: `http://127.0.0.1:${silent}/`,
		DOH_NOBODY: `http://127.0.0.1:${closing}/`,
	};
}
