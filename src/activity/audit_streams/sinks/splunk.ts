/** Splunk's HTTP Event Collector. */
import * as z from "zod";
import { define, originOf } from "../../../exports/destinations/definition.ts";
import { header } from "../../../exports/destinations/fields.ts";
import { parseStored } from "../../../exports/destinations/index.ts";
import { boolean, text, url } from "../../../http/fields.ts";
import { jsonOf } from "../../../lib/json.ts";
import { MINUTE_MS } from "../../../lib/time.ts";
import { MisconfiguredError, UnavailableError } from "../../../outbound/errors.ts";
import type { HttpResponse, Sender } from "../../../outbound/send.ts";
import { type Batch, timeOf } from "./batches.ts";
import { type Post, positionHeaders, post, serverSink } from "./server.ts";
import { format, type Progress, type Written } from "./sink.ts";

/** Splunk Cloud accepts 1 MB in a request. */
const LIMITS = { entries: 1000, bytes: 990_000, entryBytes: 900_000 };

/** How long an attempt waits before it asks again whether events are indexed. */
const ACK_DELAYS_MS = [0, 250, 500, 1000, 2000];

/** After this long without an acknowledgment, events are sent again. */
const MAX_ACK_MS = 5 * MINUTE_MS;

/** The codes in responses (Splunk: "HTTP Event Collector error codes"). */
const MEANINGS = {
	1: "The token is disabled.",
	2: "The server requires a token.",
	3: "The server doesn't accept the token's form.",
	4: "The token is wrong.",
	7: "The token isn't allowed to write to this index, or there is no such index.",
	10: "The token requires acknowledgments: turn on use_ack.",
	11: "The server rejected the channel.",
	14: "The token has no acknowledgments: turn off use_ack, or enable them for the token.",
	404: "There is no HTTP Event Collector at this URL.",
	413: "The server accepts only smaller requests: raise its max_content_length to 1 MB.",
};

/** The server is busy, its queues are full, or it is shutting down. */
const TEMPORARY = ["8", "9", "18", "19", "20", "23", "26", "27"];

const definition = define({
	title: "Splunk (HTTP Event Collector)",
	kind: "receiver",
	config: z.object({
		url: url().describe(
			"The URL of the collector, without a path, such as `https://http-inputs-example.splunkcloud.com`.",
		),
		token: header(255).min(1).describe("The token of the collector."),
		index: text(80)
			.min(1)
			.regex(
				/^[\w-]+$/,
				"The name of an index can only have letters, digits, hyphens and underscores.",
			)
			.nullish()
			.describe("The index; null for the token's default."),
		use_ack: boolean()
			.nullish()
			.describe(
				"Whether entries count as delivered when Splunk has indexed them. Requires a token with indexer acknowledgment; false by default.",
			),
		format,
	}),
	place: "url",
	secrets: ["token"],
	server: ({ url }) => originOf(url),
	test: ["reach", "write"],
});

type Settings = z.output<typeof definition.config>;

const Code = z.object({ code: z.int() });
const Sent = z.object({ ackId: z.int() });
const Acknowledged = z.object({ acks: z.record(z.string(), z.boolean()) });

const codeOf = ({ text, status }: HttpResponse) =>
	String(Code.safeParse(jsonOf(text)).data?.code ?? status);

/** Returns the requests to a collector, with the stream as the channel for acknowledgments. */
function collector(sender: Sender, stream: Written, { url, token, index, use_ack }: Settings) {
	const base = `${url.replace(/\/$/, "")}/services/collector`;
	const request = (path: string): Omit<Post, "body" | "isCompressed"> => ({
		url: new URL(base + path),
		headers: {
			"content-type": "application/json",
			authorization: `Splunk ${token}`,
			...(use_ack && { "x-splunk-request-channel": stream.id }),
		},
		secrets: [token],
		codeOf,
		meanings: MEANINGS,
		temporary: TEMPORARY,
	});
	return {
		itemOf: (entry: string) =>
			`{"time":${timeOf(entry) / 1000},"source":"tenantry","sourcetype":"_json",${
				index ? `"index":${JSON.stringify(index)},` : ""
			}"event":${entry}}`,
		/** Sends events. Returns the ID of their acknowledgment; null if there is none. */
		async send(batch: Batch) {
			const { headers, ...rest } = request("/event");
			const response = await post(sender, {
				...rest,
				headers: { ...headers, ...positionHeaders(stream, batch) },
				body: batch.items.join("\n"),
				isCompressed: true,
			});
			if (!use_ack) return null;
			const sent = Sent.safeParse(jsonOf(response.text)).data;
			if (!sent) throw new MisconfiguredError(MEANINGS[14]);
			return sent.ackId;
		},
		/** Whether events are indexed. */
		async isIndexed(id: number) {
			const body = JSON.stringify({ acks: [id] });
			const { text } = await post(sender, { ...request("/ack"), body, isCompressed: false });
			return Acknowledged.safeParse(jsonOf(text)).data?.acks[id] === true;
		},
		reach: () => sender.exchange(new Request(`${base}/health`), [token]),
	};
}

/** Waits until events are indexed, also those of an earlier attempt, and yields the progress. */
async function* acknowledged(
	{ isIndexed }: Pick<ReturnType<typeof collector>, "isIndexed">,
	sent: number,
	ack: NonNullable<Progress["ack"]>,
): AsyncGenerator<Progress> {
	yield { sent, ack };
	for (const delay of ACK_DELAYS_MS) {
		await scheduler.wait(delay);
		if (await isIndexed(ack.id)) return yield { sent: ack.last };
	}
	if (ack.at + MAX_ACK_MS < Date.now()) return;
	throw new UnavailableError("Splunk has accepted the entries, but not indexed them yet.");
}

export const splunk = {
	...definition,
	async open(env: Env, stream: Written, timeoutMs: number) {
		const config = parseStored(definition.config, stream.destination.config);
		return serverSink(env, { stream, timeoutMs }, (sender) => {
			const splunk = collector(sender, stream, config);
			return {
				limits: LIMITS,
				itemOf: splunk.itemOf,
				async *send(batch, { sent }) {
					const id = await splunk.send(batch);
					if (id === null) yield { sent: batch.last };
					else yield* acknowledged(splunk, sent, { id, last: batch.last, at: Date.now() });
				},
				resume: (sent, ack) => acknowledged(splunk, sent, ack),
				steps: { reach: splunk.reach },
			};
		});
	},
};
