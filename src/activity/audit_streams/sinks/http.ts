/** Any server that accepts lines of JSON over HTTP. */
import * as z from "zod";
import { define, originOf } from "../../../exports/destinations/definition.ts";
import { header } from "../../../exports/destinations/fields.ts";
import { parseStored } from "../../../exports/destinations/index.ts";
import { url } from "../../../http/fields.ts";
import { positionHeaders, post, serverSink } from "./server.ts";
import { format, type Written } from "./sink.ts";

/** A single entry can be larger: up to the 2 MB of a row. It has a request of its own. */
const LIMITS = { entries: 1000, bytes: 1_000_000, entryBytes: Number.POSITIVE_INFINITY };

const definition = define({
	title: "HTTPS endpoint",
	kind: "receiver",
	config: z.object({
		url: url().describe("The URL that entries are sent to, with POST."),
		token: header(4096).min(1).nullish().describe("Sent as `Authorization: Bearer <token>`."),
		format,
	}),
	place: "url",
	secrets: ["token"],
	server: ({ url }) => originOf(url),
	test: ["reach", "write"],
});

export const http = {
	...definition,
	async open(env: Env, stream: Written, timeoutMs: number) {
		const { url, token } = parseStored(definition.config, stream.destination.config);
		const secrets = token ? [token] : [];
		return serverSink(env, { stream, timeoutMs }, (sender) => ({
			limits: LIMITS,
			// The lines of a file, so that the receiver has the file when it puts them together.
			itemOf: (_, { text }) => `${text}\n`,
			async *send(batch) {
				await post(sender, {
					url: new URL(url),
					headers: {
						"content-type": "application/x-ndjson",
						...positionHeaders(stream, batch),
						...(token && { authorization: `Bearer ${token}` }),
					},
					body: batch.items.join(""),
					isCompressed: false,
					secrets,
					meanings: {
						401: "The server rejected the token, or requires one.",
						403: "The server, or a firewall in front of it, doesn't allow the request.",
						413: "The server doesn't accept requests of 1 MB, or of the size of a large entry.",
					},
				});
				yield { sent: batch.last };
			},
			steps: { reach: () => sender.exchange(new Request(url, { method: "HEAD" }), secrets) },
		}));
	},
};
