import { isIP } from "node:net";
import { resolve } from "./resolve.ts";

/** The timeout of a connection that is opened to find out why a request failed. */
const PROBE_TIMEOUT_MS = 5000;

export const silence = (address: string, timeoutMs: number) =>
	`${address} did not answer within ${timeoutMs / 1000} seconds.`;

/** Returns the error for a connection that couldn't be opened, with a message for the user. */
export async function connectionError(env: Env, host: string, address: string) {
	if (host.includes(".") && isIP(host) === 0) {
		const answers = await Promise.all([resolve(env, host, "A"), resolve(env, host, "AAAA")]);
		if (answers.every((answer) => Array.isArray(answer) && answer.length === 0))
			return new Error(`The name ${host} has no address.`);
	}
	return new Error(
		`Nothing answers at ${address}: check the host, the port, and any firewall in between.`,
	);
}

/** Whether the address accepts connections, with or without TLS. */
async function accepts(address: string, secureTransport: "on" | "off") {
	// Imported here because the OpenAPI document is generated in Node, which doesn't have this
	// module.
	const { connect } = await import("cloudflare:sockets");
	const socket = connect(address, { secureTransport, allowHalfOpen: false });
	socket.closed.catch(() => {});
	try {
		return await Promise.race([
			socket.opened.then(() => true),
			scheduler.wait(PROBE_TIMEOUT_MS).then(() => false),
		]).catch(() => false);
	} finally {
		socket.close().catch(() => {});
	}
}

/** Returns the error for a request without a response. The runtime's errors have no reason. */
export async function explainFailure(env: Env, { protocol, hostname }: URL, address: string) {
	if (!(await accepts(address, "off"))) return connectionError(env, hostname, address);
	if (protocol === "https:" && !(await accepts(address, "on")))
		return new Error(
			`The TLS connection to ${address} failed: the server doesn't offer TLS, or its certificate doesn't name the host or isn't from a public authority.`,
		);
	return new Error(`The connection to ${address} was closed before the response was complete.`);
}
