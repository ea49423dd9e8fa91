import { connect } from "cloudflare:sockets";
import { isIP } from "node:net";
import { resolve } from "../../dns/resolve.ts";

/** For a connection that is only made to find out why another one failed. */
const PROBE_TIMEOUT_MS = 5000;

export const silence = (address: string, timeoutMs: number) =>
	`${address} did not answer within ${timeoutMs / 1000} seconds.`;

/** Why no connection came about, with a message for the user. */
export async function connectionError(env: Env, host: string, address: string) {
	if (host.includes(".") && isIP(host) === 0) {
		const answers = await Promise.all([
			resolve(env.DOH_URL, host, "A"),
			resolve(env.DOH_URL, host, "AAAA"),
		]);
		if (answers.every((answer) => Array.isArray(answer) && answer.length === 0))
			return new Error(`The name ${host} doesn't lead to any address.`);
	}
	return new Error(
		`Nothing answers at ${address}: check the host, the port, and any firewall in between.`,
	);
}

/** Whether a connection to the address can be made, with TLS or without. */
async function accepts(address: string, secureTransport: "on" | "off") {
	const socket = connect(address, { secureTransport, allowHalfOpen: false });
	socket.closed.catch(() => {});
	try {
		return await Promise.race([
			socket.opened.then(
				() => true,
				() => false,
			),
			scheduler.wait(PROBE_TIMEOUT_MS).then(() => false),
		]);
	} finally {
		socket.close().catch(() => {});
	}
}

/** Why a request to this URL got no answer, with a message for the user. The runtime's own errors don't tell. */
export async function explainFailure(
	env: Env,
	{ protocol, hostname }: URL,
	address: string,
) {
	if (!(await accepts(address, "off")))
		return connectionError(env, hostname, address);
	if (protocol === "https:" && !(await accepts(address, "on")))
		return new Error(
			`No TLS connection to ${address} can be made: it offers no TLS, or its certificate is refused, which has to name the host and come from a public authority.`,
		);
	return new Error(
		`The connection to ${address} broke before the answer was complete.`,
	);
}
