import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { freePort } from "./server.ts";

/** The challenge of every domain that the resolver knows. */
export const CHALLENGE = "challenge-challenge-challenge-challenge-123";

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
  local-zone: "example.test." static
  local-data: '_tenantry-challenge.right.example.test. 60 IN TXT "${CHALLENGE}"'
  local-data: '_tenantry-challenge.wrong.example.test. 60 IN TXT "something else"'
  local-data: '_tenantry-challenge.several.example.test. 60 IN TXT "v=spf1 -all"'
  local-data: '_tenantry-challenge.several.example.test. 60 IN TXT "${CHALLENGE}"'
  local-data: '_tenantry-challenge.split.example.test. 60 IN TXT "${CHALLENGE.slice(0, 10)}" "${CHALLENGE.slice(10)}"'
  local-data: '_tenantry-challenge.nodata.example.test. 60 IN A 192.0.2.1'
  local-data: 'public.example.test. 60 IN A 1.1.1.1'
  local-data: 'public.example.test. 60 IN AAAA 2606:4700::1111'
  local-data: 'inside.example.test. 60 IN A 10.0.0.5'
  local-data: 'partly.example.test. 60 IN A 1.1.1.1'
  local-data: 'partly.example.test. 60 IN AAAA ::ffff:169.254.169.254'
  local-zone: "alias.test." transparent
  local-data: '_tenantry-challenge.part.example.test. 60 IN TXT "x${CHALLENGE}"'
remote-control:
  control-enable: no
auth-zone:
  name: "alias.test."
  zonefile: "${folder}/alias.test"
  for-upstream: no
`;

/** A zone of its own, since local data is answered without following it. */
const ALIAS = `
alias.test. 60 IN SOA ns.alias.test. nobody.alias.test. 1 60 60 60 60
alias.test. 60 IN NS ns.alias.test.
www.alias.test. 60 IN CNAME more.alias.test.
more.alias.test. 60 IN CNAME inside.alias.test.
inside.alias.test. 60 IN A 10.0.0.5
`;

const DNSDIST = (port: number, doh: number, unbound: number) => `
setSecurityPollSuffix("")
setLocal("127.0.0.1:${port}")
newServer({address="127.0.0.1:${unbound}", healthCheckMode="up"})
addAction("servfail.example.test.", RCodeAction(DNSRCode.SERVFAIL))
addDOHLocal("127.0.0.1:${doh}", nil, nil, "/dns-query")
`;

const installed = () => {
	try {
		execFileSync("sh", ["-c", "command -v unbound && command -v dnsdist"], {
			stdio: "ignore",
			env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
		});
		return true;
	} catch {
		return false;
	}
};

/** A server that accepts and never answers. */
const silent = () =>
	new Promise<number>((resolve) => {
		const server = createServer((socket) => socket.unref()).listen(
			0,
			"127.0.0.1",
			() => {
				const address = server.address();
				server.unref();
				resolve(typeof address === "object" && address ? address.port : 0);
			},
		);
	});

/**
 * A real resolver (unbound) with a DNS-over-HTTPS front (dnsdist), one that never answers, and one that isn't there.
 * Where the programs are not installed, the first is ''.
 */
export async function resolvers() {
	const [dns, plain, doh, nobody] = await Promise.all([
		freePort(),
		freePort(),
		freePort(),
		freePort(),
	]);
	const others = {
		DOH_SILENT: `http://127.0.0.1:${await silent()}/`,
		DOH_NOBODY: `http://127.0.0.1:${nobody}/`,
	};
	if (!installed()) return { DOH_URL: "", ...others };
	const folder = mkdtempSync(`${tmpdir()}/tenantry-dns-`);
	writeFileSync(`${folder}/unbound.conf`, UNBOUND(dns, folder));
	writeFileSync(`${folder}/alias.test`, ALIAS);
	writeFileSync(`${folder}/dnsdist.conf`, DNSDIST(plain, doh, dns));
	const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
	const run = (command: string, ...words: string[]): ChildProcess =>
		spawn(command, words, { env, stdio: "ignore" });
	const servers = [
		run("unbound", "-d", "-c", `${folder}/unbound.conf`),
		run("dnsdist", "--supervised", "-C", `${folder}/dnsdist.conf`),
	];
	for (const server of servers) server.unref();
	process.on("exit", () => servers.map((server) => server.kill("SIGKILL")));
	const url = `http://127.0.0.1:${doh}/dns-query`;
	for (let i = 0; i < 100; i++) {
		if (await fetch(url).then(Boolean, () => false)) break;
		await new Promise((later) => setTimeout(later, 50));
	}
	return { DOH_URL: url, ...others };
}
