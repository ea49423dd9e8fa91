/** The headers of responses. */
import type { Operation } from "../../src/http/router.ts";
import type { Json } from "./schemas.ts";

type Response = { status: number; guarded: boolean; operation: Operation };

type Header = {
	description: string;
	schema?: Json;
	/** Which responses have the header; those that only may have it, too. */
	on: (response: Response) => boolean;
};

const INTEGER = { type: "integer", minimum: 0 };

/** Every header that the document names. */
const HEADERS: Record<string, Header> = {
	"X-Request-Id": {
		description:
			"Identifies the request in the service's log. Yours, if the request has a valid `X-Request-Id`.",
		on: () => true,
	},
	"Server-Timing": {
		description: "What the request cost, such as the number of trips to the database (`d1_trips`).",
		on: () => true,
	},
	"x-d1-bookmark": {
		description:
			"The state of the database that the answer shows. Send it with a later request, and that request sees at least this state.",
		on: ({ status, guarded }) => guarded && status < 300,
	},
	"WWW-Authenticate": {
		description: "Always `Bearer`: the request needs a personal API key.",
		on: ({ status }) => status === 401,
	},
	"Retry-After": {
		description: "After how many seconds to try again.",
		schema: INTEGER,
		on: ({ status }) => status === 429 || status === 503,
	},
	Link: {
		description:
			"Where to read what the action is about (RFC 8288); missing if there is nothing to read.",
		on: ({ operation, status }) => status === 200 && !operation.answer && !operation.media,
	},
	ETag: {
		description: "Changes with the content. For `If-None-Match`.",
		on: ({ operation, status }) => operation.isFile === true && (status === 200 || status === 304),
	},
};

/** For `components.headers`. */
export const headers = Object.fromEntries(
	Object.entries(HEADERS).map(([name, { description, schema = { type: "string" } }]) => [
		name,
		{ description, schema },
	]),
);

/** References to the headers of a response. */
export const headersOf = (response: Response) =>
	Object.fromEntries(
		Object.entries(HEADERS)
			.filter(([, { on }]) => on(response))
			.map(([name]) => [name, { $ref: `#/components/headers/${name}` }]),
	);
