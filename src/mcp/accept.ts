import type { Context } from "hono";
import { accepts } from "hono/accepts";

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";

/** What the library requires, although each response has only one of the types. */
const BOTH = `${JSON_TYPE}, ${STREAM_TYPE}`;

type Accepted = { type: string; q: number };

/** Whether `Accept` includes a media type: its most specific range counts (RFC 9110, 12.5.1). */
function includes(all: Accepted[], type: string) {
	const ranges = [type, type.replace(/\/.*/, "/*"), "*/*"];
	const found = ranges.flatMap((range) => all.filter((each) => each.type.toLowerCase() === range));
	return (found[0]?.q ?? 0) > 0;
}

/**
 * Returns the `Accept` for the library, and whether the response is a stream of events: only for
 * clients that accept nothing else. The protocol has clients accept both types, but not all do.
 */
export function readAccept(c: Context) {
	const given = c.req.header("accept") ?? "*/*";
	const type = accepts(c, {
		header: "Accept",
		supports: [JSON_TYPE, STREAM_TYPE],
		default: JSON_TYPE,
		match: (all, { supports }) => supports.find((each) => includes(all, each)) ?? "",
	});
	return { accept: type === "" ? given : BOTH, isStream: type === STREAM_TYPE };
}
