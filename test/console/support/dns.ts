/** A resolver whose TXT records tests set: DNS over HTTPS (RFC 8484), for the server under test. */
import { createServer, type IncomingMessage } from "node:http";
import dns from "dns-packet";
import { listen } from "../../support/peers.ts";
import { decoded } from "../../support/resolver.ts";

const NO_SUCH_NAME = 3;

async function bodyOf(request: IncomingMessage) {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
}

/** Answers queries posted to it. A PUT to `/<name>` sets the TXT record of a name. */
export async function resolver() {
	const records = new Map<string, string>();
	const server = createServer(async (request, response) => {
		const body = await bodyOf(request);
		if (request.method === "PUT") {
			records.set(request.url?.slice(1) ?? "", body.toString());
			response.end();
			return;
		}
		const { id = 0, questions = [] } = decoded(body) ?? {};
		const [{ name, type } = { name: "", type: "TXT" }] = questions;
		const data = type === "TXT" ? records.get(name) : undefined;
		response.setHeader("content-type", "application/dns-message").end(
			dns.encode({
				type: "response",
				id,
				flags: dns.RECURSION_DESIRED | dns.RECURSION_AVAILABLE | (data ? 0 : NO_SUCH_NAME),
				questions,
				answers: data ? [{ type: "TXT", name, data, ttl: 0 }] : [],
			}),
		);
	});
	return `http://127.0.0.1:${await listen(server)}/`;
}
