import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { App } from "../env.ts";

/**
 * The tokens of compact JSON that matter for indentation: strings, empty objects and lists, and
 * punctuation.
 */
const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;

/** Indents compact JSON. It works on the text, since parsing would round long numbers. */
export function indent(json: string) {
	let depth = 0;
	const newline = () => `\n${"  ".repeat(depth)}`;
	return json.replace(JSON_TOKENS, (token) => {
		if (token === "{" || token === "[") {
			depth += 1;
			return token + newline();
		}
		if (token === "}" || token === "]") {
			depth -= 1;
			return newline() + token;
		}
		if (token === ",") return token + newline();
		return token === ":" ? ": " : token;
	});
}

/**
 * The text of a JSON response: it ends with a newline, so that a shell's prompt starts on its own line, and `?pretty` indents it.
 * @param compact is kept in the context: for the ETag, `Idempotency-Key`, `If-Match` and older versions
 */
export function formatted(c: Context<App>, compact: string) {
	c.set("compact", compact);
	return `${c.req.query("pretty") === undefined ? compact : indent(compact)}\n`;
}

const JSON_TYPE = { "Content-Type": "application/json" };

/** Makes `c.json` write `formatted` text. (To read the response and write it anew costs 3 % of a request.) */
export const formatJson = createMiddleware<App>(async (c, next) => {
	const json = (value: unknown, status?: ContentfulStatusCode, headers?: Record<string, string>) =>
		c.body(formatted(c, JSON.stringify(value)), status, { ...JSON_TYPE, ...headers });
	Object.assign(c, { json });
	await next();
});
