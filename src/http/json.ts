import { createMiddleware } from "hono/factory";
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
 * Ends JSON responses with a newline, so that a shell's prompt starts on its own line; `?pretty`
 * indents them.
 */
export const formatJson = createMiddleware<App>(async (c, next) => {
	await next();
	if (!c.res.headers.get("content-type")?.startsWith("application/json")) return;
	// A file is streamed as it is.
	if (c.res.headers.has("etag")) return;
	const text = await c.res.text();
	if (text === "") return;
	c.set("compact", text);
	const body = c.req.query("pretty") === undefined ? text : indent(text);
	const response = c.res;
	// Otherwise Hono would copy the headers once more.
	c.res = undefined;
	c.res = new Response(`${body}\n`, response);
});
