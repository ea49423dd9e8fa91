import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { expect, test } from "vitest";
import { findSlowness, startPart } from "../../scripts/check/startup.ts";

test("an isolate that starts evaluates no packages and tables but these, and no modules of Node.js; others wait until they are needed", async () => {
	const { packages, tables, script } = await startPart();
	expect(packages).toEqual(["drizzle-orm", "hono", "uuid", "zod"]);
	expect(tables).toEqual([
		"activity_log",
		"assertions",
		"idempotency_keys",
		"levels",
		"organizations",
		"origin",
		"people",
		"personal_api_keys",
		"webhooks",
	]);
	expect(findSlowness(script)).toEqual([]);
});

/** Makes the script fail if it makes an error before its first request. */
const REFUSE_ERRORS = `
for (const name of ["Error", "EvalError", "RangeError", "SyntaxError", "TypeError"])
	globalThis[name] = new Proxy(globalThis[name], {
		construct(target, words) { throw "An error was made: " + words[0]; },
		apply(target, itself, words) { throw "An error was made: " + words[0]; },
	});
`;

/**
 * Makes the script fail if it makes a shape before its first request: zod defines this property of
 * each.
 */
const REFUSE_SHAPES = `
const define = Object.defineProperty;
Object.defineProperty = (object, name, descriptor) => {
	if (name === "_zod") throw "A shape was made.";
	return define(object, name, descriptor);
};
`;

test.each([
	["error: V8 would read the whole script again, for its stack", REFUSE_ERRORS],
	["shape: the first request makes those that it needs", REFUSE_SHAPES],
])("an isolate that starts makes no %s", async (_, refuse) => {
	const { script } = await startPart();
	const miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			compatibilityDate: "2026-08-01",
			compatibilityFlags: ["nodejs_compat"],
			modules: true,
			script: refuse + script,
		}),
	);
	await expect(miniflare.ready).resolves.toBeInstanceOf(URL);
	await miniflare.dispose();
});
