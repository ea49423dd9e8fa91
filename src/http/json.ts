import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";

/** Strings, empty objects and lists, and marks of compact JSON. */
const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;

/** Works on the text: parsing would round numbers of more digits than a JavaScript number has. */
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

/** JSON answers end in a newline, so that a shell's prompt starts on its own line; `?pretty` indents them. */
export const formatJson = createMiddleware<App>(async (c, next) => {
	await next();
	if (!c.res.headers.get("content-type")?.startsWith("application/json")) return;
	const text = await c.res.text();
	if (text === "") return;
	const body = c.req.query("pretty") === undefined ? text : indent(text);
	c.res = new Response(`${body}\n`, c.res);
});
