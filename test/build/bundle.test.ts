import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { expect, test } from "vitest";
import { bundle } from "../../build/bundle.ts";
import { discard, folder } from "../support/server.ts";

/** A worker with every way to load something. */
const WORKER = {
	"wrangler.json": JSON.stringify({
		name: "parts",
		main: "worker.js",
		compatibility_date: "2026-08-01",
		alias: { renamed: "./renamed.cjs" },
	}),
	"worker.js": `
		import { counter } from "./shared.js";
		export default {
			async fetch() {
				const first = await import("./first.js");
				const { default: second, count, ...rest } = await import("./second.js");
				const { default: whole, named } = await import("plain");
				const { default: es, named: esNamed } = await import("compiled");
				first.next();
				second.next();
				return Response.json({
					counts: [counter, first.count, count, (await import("./second.js")).count],
					rest: Object.keys(rest),
					plain: [whole.named, named],
					compiled: [es.default, es.named, esNamed],
					renamed: (await import("renamed")).default,
					sockets: typeof (await import("./sockets.js")).open,
					text: second.text,
				});
			},
		};`,
	"shared.js": "export let counter = 0; export const count = () => ++counter;",
	// Both parts share this one, which isn't evaluated at start.
	"both.js": "export let count = 10; export const next = () => ++count;",
	"first.js": `
		import { count as add } from "./shared.js";
		import { count, next as nextOfBoth } from "./both.js";
		export { count };
		export function next() { add(); nextOfBoth(); }`,
	"second.js": `
		import * as both from "./both.js";
		export { count } from "./both.js";
		export default { next: both.next, text: \`
export {
  count
};
\` };
		export const $ = 1;`,
	"sockets.js": 'import { connect } from "cloudflare:sockets"; export const open = connect;',
	"renamed.cjs": "module.exports = process.env.NODE_ENV;",
	"node_modules/plain/index.js": 'module.exports = { named: "named" };',
	"node_modules/compiled/index.js":
		'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = "default"; exports.named = "named";',
	"package.json": '{ "type": "module" }',
	"node_modules/package.json": "{}",
};

test("the parts of a bundle export what the sources do, and evaluate nothing twice", async () => {
	const root = folder();
	for (const name of ["plain", "compiled"])
		mkdirSync(`${root}/node_modules/${name}`, { recursive: true });
	for (const [name, text] of Object.entries(WORKER)) writeFileSync(`${root}/${name}`, text);
	const { script } = bundle(`${root}/dist`, { config: `${root}/wrangler.json` });
	const miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			compatibilityDate: "2026-08-01",
			modules: true,
			script: readFileSync(script, "utf8"),
		}),
	);
	const response = await miniflare.dispatchFetch("http://localhost/");
	expect(await response.json()).toEqual({
		counts: [1, 12, 10, 12],
		rest: ["$"],
		plain: ["named", "named"],
		compiled: ["default", "named", "named"],
		renamed: "production",
		sockets: "function",
		text: "\nexport {\n  count\n};\n",
	});
	await miniflare.dispose();
	discard(root);
});
