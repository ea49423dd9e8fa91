/** Servers that receive entries over HTTP (docs/audit.md#servers). */
import { v7 } from "uuid";
import { problemOf } from "../../../exports/destinations/buckets/client.ts";
import { now } from "../../../lib/time.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { type HttpResponse, type Sender, sender } from "../../../outbound/send.ts";
import { runSteps } from "../../../outbound/steps.ts";
import type { EventRow } from "../../events/event.ts";
import { entryWriter } from "../formats.ts";
import { type Batch, batchesOf, entriesOf, type Limits, type Line } from "./batches.ts";
import type { Progress, Sink, Written } from "./sink.ts";

/** What is particular about a server. */
export type Server = {
	limits: Limits;
	/** Returns what a request has for an entry. */
	itemOf(entry: string, line: Line): string;
	/** Sends a batch, and yields the progress. `before` is that of an earlier attempt. */
	send(batch: Batch, before: Progress): AsyncIterable<Progress>;
	/** Waits for what an earlier attempt has sent. Yields nothing if it has to be sent again. */
	resume?(sent: number, ack: NonNullable<Progress["ack"]>): AsyncIterable<Progress>;
	/** The first steps of a test. */
	steps: Record<string, () => Promise<unknown>>;
};

/** A request to a server, and what its responses mean. */
export type Post = {
	url: URL;
	headers: Record<string, string>;
	body: string;
	/** Generic servers may not accept compressed requests. */
	isCompressed: boolean;
	/** Texts that errors must not contain. */
	secrets: string[];
	/** Returns the error code of a response; by default, its status. */
	codeOf?(response: HttpResponse): string;
	/** The meanings of codes that a retry can't resolve. */
	meanings: Record<string, string>;
	/** The codes that a retry may resolve, besides 408, 425, 429 and 5xx. */
	temporary?: string[];
};

const gzip = (text: string) =>
	new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();

/**
 * Sends a request.
 * @returns the response, if it is a 2xx
 * @throws UnavailableError if a retry may succeed, else MisconfiguredError
 */
export async function post({ exchange }: Sender, request: Post): Promise<HttpResponse> {
	const { url, headers, body, isCompressed, secrets, meanings, temporary = [] } = request;
	const response = await exchange(
		new Request(url, {
			method: "POST",
			headers: { ...headers, ...(isCompressed && { "content-encoding": "gzip" }) },
			body: isCompressed ? await gzip(body) : body,
		}),
		secrets,
	);
	const { status } = response;
	if (status >= 200 && status < 300) return response;
	if (status >= 300 && status < 400)
		throw new MisconfiguredError("The URL redirects: enter the URL that it redirects to.");
	throw problemOf(request.codeOf?.(response) || String(status), response, {
		temporary,
		meanings: new Map(Object.entries(meanings)),
		rejected: "The server rejected the request.",
	});
}

/** The headers with which a receiver recognizes repeated entries. */
export const positionHeaders = ({ id }: Pick<Written, "id">, { first, last }: Batch) => ({
	"idempotency-key": `${id}:${first}-${last}`,
	"tenantry-stream": id,
	"tenantry-positions": `${first}-${last}`,
});

/** An entry for tests, of the type that the test itself writes to the log. */
const sampleOf = ({ id, organization_uuid }: Written): EventRow => ({
	position: 0,
	id: v7(),
	user: null,
	is_system: true,
	scope: "AuditStream",
	activity: "tested",
	item_id: id,
	organization_id: organization_uuid,
	project_id: null,
	name: "",
	changes: [],
	trigger: null,
	origin: null,
	created_at: now(),
});

/**
 * Returns the sink of a server.
 * @param open returns the server, for requests through a sender
 */
export function serverSink(
	env: Env,
	{ stream, timeoutMs }: { stream: Written; timeoutMs: number },
	open: (sender: Sender) => Server,
): Sink {
	const { limits, itemOf, send, resume, steps } = open(sender(env, timeoutMs));
	const { config } = stream.destination;
	return {
		keyOf: () => null,
		has: async () => false,
		async *write(file) {
			let progress = file.plan.progress ?? { sent: stream.delivered_events };
			if (progress.ack && resume)
				for await (progress of resume(progress.sent, progress.ack)) yield progress;
			const lines = entriesOf(file, progress.sent, config.format === "OCSF");
			for await (const batch of batchesOf(lines, limits, itemOf))
				for await (progress of send(batch, progress)) yield progress;
		},
		test: () =>
			runSteps({
				...steps,
				write: async () => {
					const entry = JSON.stringify(entryWriter(config)(sampleOf(stream), 0));
					const line = { number: 0, text: entry, entry };
					const batch = { first: 0, last: 0, items: [itemOf(entry, line)] };
					for await (const _ of send(batch, { sent: 0 }));
				},
			}),
	};
}
