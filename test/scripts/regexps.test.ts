import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
	ACCEPTED,
	expressionsIn,
	filesWithExpressions,
	findBacktracking,
	growthOf,
} from "../../scripts/check/regexps.ts";

const growths = (module: string) => expressionsIn(module).map(growthOf);

test("a regular expression whose time isn't linear is found, wherever it is created", () => {
	// A private key of 8,000 line breaks kept this one busy for minutes.
	const pem = String.raw`/^-----BEGIN KEY-----\s+([\w+/=\s]+?)\s+-----END KEY-----$/`;
	expect(growths(`const PEM = ${pem};`)).toEqual([expect.stringMatching(/^3rd degree polynomial/)]);
	expect(growths("export const Slow = z.string().regex(/^(a+)+$/);")).toEqual([
		expect.stringMatching(/^exponential/),
	]);
	expect(growths(String.raw`new RegExp("(\\w+);", "g"); RegExp("x+$");`)).toEqual([
		expect.stringMatching(/^2nd degree polynomial/),
		expect.stringMatching(/^2nd degree polynomial/),
	]);
	expect(growths("const View = ({ text }: Props) => <p>{text.replace(/ +$/, '')}</p>;")).toEqual([
		expect.stringMatching(/^2nd degree polynomial/),
	]);
});

test("a regular expression that is computed is found, too", () => {
	expect(growths("new RegExp(`<$" + "{name}>`); new RegExp('x', flags);")).toEqual([
		"computed",
		"computed",
	]);
});

test("a regular expression whose time is linear isn't", () => {
	const linear = String.raw`/(?<!\/)\/+$/, /^[a-z]{1,20}$/iu, new RegExp("\\d")`;
	expect(growths(`export default [${linear}, 6 / 3 / 2, "/(a+)+$/"];`)).toEqual([null, null, null]);
});

test("no expression of the project backtracks, but for those with a reason", () => {
	const files = filesWithExpressions();
	expect(findBacktracking(files)).toEqual([]);
	const text = files.map((file) => readFileSync(file, "utf8")).join("\n");
	expect(Object.keys(ACCEPTED).filter((code) => !text.includes(code))).toEqual([]);
});
