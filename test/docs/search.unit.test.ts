import { globSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { finderOf } from "../../build/docs/finder.ts";

/** Reads a built asset, and what it exports by default. */
function assetOf(name: string) {
	const [file = ""] = globSync(`public/docs/assets/${name}.*.js`);
	const text = readFileSync(file, "utf8");
	const json = text.startsWith("export default ") ? text.slice(15).replace(/;\n$/, "") : "null";
	return { text, value: JSON.parse(json) };
}

const pages: [string, string, [string, string][]][] = assetOf("headings").value;
const paths = pages.flatMap(([, path, headings]) => [
	path,
	...headings.map(([, id]) => `${path}#${id}`),
]);
const find = finderOf(assetOf("texts").value);

test.each([
	["lost phone", "/docs/keys#the-second-factor"],
	["Retry-After", "/docs/api#throttled"],
	["rotate secret", "/docs/webhooks#rolling-the-secret"],
	["TENANTRY_KEY", "/docs/cli#keys"],
	["tenantry_key", "/docs/cli#keys"],
	["handling=strict", "/docs/api#strict-requests"],
	["SECRETS_KEY", "/docs/keys#secrets-at-rest"],
	["reset second factor", "/docs/operating#the-operators-command"],
])("the search of the documentation for %s finds %s", (text, path) => {
	expect(
		find(text)
			.slice(0, 5)
			.map((id) => paths[id]),
	).toContain(path);
});

test("what no text has isn't found", () => {
	expect(find("xylophone")).toEqual([]);
	expect(find("lost xylophone")).toEqual([]);
});

test("what the first search loads has at most 92 KiB", () => {
	const sizes = ["headings", "finder", "texts"].map((name) => gzipSync(assetOf(name).text).length);
	const total = sizes.reduce((sum, size) => sum + size);
	expect(total).toBeLessThan(92 * 1024);
	expect(total).toBeGreaterThan(1024);
});
