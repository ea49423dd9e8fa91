import type { Context, ErrorHandler, NotFoundHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod";
import type { App } from "../env.ts";
import { documentAs } from "./router.ts";

/** The body of every answer that is not a success (behaviour 1.4). */
export const Problem = z
	.object({
		type: documentAs(
			z.string(),
			z.enum([
				"validation_error",
				"invalid_request",
				"authentication_error",
				"throttled_error",
				"server_error",
			]),
		),
		code: z.string(),
		detail: z.string(),
		attr: z.string().nullable(),
	})
	.meta({ id: "Error" });

/** A request that is refused, and how; thrown anywhere, answered by `onError`. */
export class Refusal extends Error {
	readonly status: ContentfulStatusCode;
	readonly body: z.infer<typeof Problem>;
	readonly headers: Record<string, string>;

	constructor(
		status: ContentfulStatusCode,
		type: string,
		code: string,
		detail: string,
		attr: string | null = null,
		headers: Record<string, string> = {},
	) {
		super(detail);
		this.status = status;
		this.body = { type, code, detail, attr };
		this.headers = headers;
	}
}

/** A field (`attr`) or a rule (`attr` null) is broken. */
export const invalid = (
	attr: string | null,
	why: string,
	code = "invalid_input",
) => new Refusal(400, "validation_error", code, why, attr);

/** A reference to something that isn't there, or not for the caller. */
export const unknown = (attr: string, pk: unknown) =>
	invalid(
		attr,
		`Invalid pk "${pk}" - object does not exist.`,
		"does_not_exist",
	);

export const unparsable = (why: string) =>
	new Refusal(
		400,
		"invalid_request",
		"parse_error",
		`JSON parse error - ${why}`,
	);

const challenge = { "WWW-Authenticate": "Bearer" };

export const notAuthenticated = () =>
	new Refusal(
		401,
		"authentication_error",
		"not_authenticated",
		"Authentication credentials were not provided.",
		null,
		challenge,
	);

export const badCredentials = () =>
	new Refusal(
		401,
		"authentication_error",
		"authentication_failed",
		"Personal API key found in request Authorization header is invalid.",
		null,
		challenge,
	);

export const forbidden = (
	why = "You do not have permission to perform this action.",
) => new Refusal(403, "authentication_error", "permission_denied", why);

export const notFound = (what = "Not found.") =>
	new Refusal(404, "invalid_request", "not_found", what);

/** Other requests changed the object, however often this one tried. */
export const conflict = () =>
	new Refusal(
		409,
		"invalid_request",
		"conflict",
		"Other requests are changing this object at the same time. Try again.",
	);

export const methodNotAllowed = (method: string, allowed: string[]) =>
	new Refusal(
		405,
		"invalid_request",
		"method_not_allowed",
		`Method "${method}" not allowed.`,
		null,
		{
			Allow: allowed.join(", "),
		},
	);

export const tooLarge = (bytes: number) =>
	new Refusal(
		413,
		"invalid_request",
		"request_too_large",
		`Request body is larger than ${bytes} bytes.`,
	);

export const unsupportedMediaType = (type: string) =>
	new Refusal(
		415,
		"invalid_request",
		"unsupported_media_type",
		`Unsupported media type "${type}" in request.`,
	);

export const throttled = (
	seconds: number,
	why = `Request was throttled. Expected available in ${seconds} seconds.`,
) =>
	new Refusal(429, "throttled_error", "throttled", why, null, {
		"Retry-After": String(seconds),
	});

/** Absence is a value until here: the row, or a 404. */
export function found<T>(row: T | undefined | null): T {
	if (row === undefined || row === null) throw notFound();
	return row;
}

/** Whether the database refused a write because another row has this value of the column (`table.column`). */
export const taken = (error: unknown, column: string) =>
	error instanceof Error &&
	/UNIQUE constraint failed: ([\w., ]+)/
		.exec(error.message)?.[1]
		?.split(", ")
		.includes(column) === true;

/** Whether the database has no tables yet: nobody applied the migrations. */
export const lacksTable = (error: unknown) =>
	error instanceof Error &&
	/no such table/.test(`${error.message} ${error.cause}`);

const notSetUp = () =>
	new Refusal(
		503,
		"server_error",
		"not_set_up",
		"The service is not set up yet: its database has no tables.",
		null,
		{ "Retry-After": "60" },
	);

/** What a constraint of the database refused, in the words of an answer; undefined: not a constraint. */
function constraint(error: Error) {
	const column = /UNIQUE constraint failed: (?:\w+\.\w+, )*(\w+)s\.(\w+)/.exec(
		error.message,
	);
	if (column?.[1] && column[2])
		return invalid(
			column[2],
			`${column[1].replaceAll("_", " ")} with this ${column[2].replaceAll("_", " ")} already exists.`,
			"unique",
		);
	if (error.message.includes("CHECK constraint failed: still_admitted"))
		return forbidden("Your access changed while the request was under way.");
	// The row that a new one belongs to was deleted between this request's read and its write.
	if (error.message.includes("FOREIGN KEY constraint failed"))
		return notFound();
	return undefined;
}

export const respond = (c: Context, { body, status, headers }: Refusal) =>
	c.json(body, status, headers);

export const onError: ErrorHandler<App> = (error, c) => {
	const refusal = error instanceof Refusal ? error : constraint(error);
	if (refusal) return respond(c, refusal);
	if (lacksTable(error)) {
		console.error(
			JSON.stringify({
				request_id: c.var.requestId,
				error:
					"The database has no tables. Stop the server and run npm run setup, or for a deployed worker npm run deploy.",
			}),
		);
		return respond(c, notSetUp());
	}
	console.error(
		JSON.stringify({
			request_id: c.var.requestId,
			error: error.stack ?? error.message,
		}),
	);
	return respond(
		c,
		new Refusal(500, "server_error", "error", "A server error occurred."),
	);
};

export const onNotFound: NotFoundHandler<App> = (c) =>
	respond(c, notFound("Endpoint not found."));
