/**
 * Finds regular expressions that backtrack: on a text of 10 KB, one can take minutes, in which its
 * isolate does nothing else. Checks those in src, packages, the code in docs, and the OpenAPI
 * document, which contains zod's.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type AnyNode, parse } from "acorn";
import { transform } from "sucrase";
import { filesOf } from "../../build/files.ts";

const require = createRequire(import.meta.url);

/** The build without native code, Java or threads. It has no types of its own. */
const { checkSync }: typeof import("recheck") = require("recheck/lib/browser.js");

/** Why an expression may backtrack, or be computed, by its code. */
export const ACCEPTED: Record<string, string> = {
	'new RegExp(`<${name}>([^<]*)</${name}>`, "g")':
		"is made of constants; the text between them has no <",
};

/** A regular expression. Its `source` is undefined if it is computed. */
type Expression = { code: string; source: string | undefined; flags: string };

const isNode = (value: unknown): value is AnyNode =>
	typeof value === "object" && value !== null && "type" in value && "start" in value;

/** Returns a node and all nodes below it. */
const withDescendants = (node: AnyNode): AnyNode[] => [
	node,
	...Object.values(node).flat().filter(isNode).flatMap(withDescendants),
];

const textOf = (node: AnyNode | undefined) =>
	node?.type === "Literal" && typeof node.value === "string" ? node.value : undefined;

/** Returns the expression that a node creates, if it creates one. */
function expressionOf(node: AnyNode, script: string): Expression[] {
	const code = script.slice(node.start, node.end);
	if (node.type === "Literal" && node.regex)
		return [{ code, source: node.regex.pattern, flags: node.regex.flags }];
	const isCall = node.type === "NewExpression" || node.type === "CallExpression";
	if (!isCall || node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return [];
	const [source, flags] = node.arguments;
	const isComputed = flags !== undefined && textOf(flags) === undefined;
	return [{ code, source: isComputed ? undefined : textOf(source), flags: textOf(flags) ?? "" }];
}

/** Returns the regular expressions of a module in JavaScript or TypeScript. */
export function expressionsIn(module: string): Expression[] {
	const { code } = transform(module, {
		transforms: ["typescript", "jsx"],
		jsxRuntime: "automatic",
		disableESTransforms: true,
	});
	const program = parse(code, { ecmaVersion: "latest", sourceType: "module" });
	return withDescendants(program).flatMap((node) => expressionOf(node, code));
}

/** Returns the code blocks of a page of the documentation. */
const codeOf = (page: string) =>
	Array.from(page.matchAll(/^```[jt]s\n(.*?)^```/gms), ([, code = ""]) => code);

/** Returns the patterns in the OpenAPI document. */
function patternsIn(value: unknown): Expression[] {
	if (typeof value !== "object" || value === null) return [];
	return Object.entries(value).flatMap(([key, inner]) =>
		key === "pattern" && typeof inner === "string"
			? [{ code: `/${inner}/u`, source: inner, flags: "u" }]
			: patternsIn(inner),
	);
}

function expressionsOf(file: string): Expression[] {
	const text = readFileSync(file, "utf8");
	if (file.endsWith(".json")) return patternsIn(JSON.parse(text));
	const modules = file.endsWith(".md") ? codeOf(text) : [text];
	return modules.flatMap(expressionsIn);
}

/** Returns how an expression's time grows with the text; null if it is linear. */
export function growthOf({ source, flags }: Expression): string | null {
	if (source === undefined) return "computed";
	// The results must not depend on the speed of the computer.
	const limits = { timeout: null, attackTimeout: null, incubationTimeout: null, randomSeed: 1 };
	// Larger automata take up to a minute.
	const result = checkSync(source, flags, { ...limits, maxNFASize: 2_000 });
	if (result.status === "safe") return null;
	return result.status === "vulnerable" ? result.complexity.summary : result.status;
}

const isChecked = (file: string) =>
	/^(?:src|packages|docs|public)\/.+(?<!\.d)\.(?:[jt]sx?|md|json)$/.test(file) &&
	!file.includes("/test/");

/** Returns what may have expressions: the files of the project, and the OpenAPI document. */
export const filesWithExpressions = () => [...filesOf(), "public/openapi.json"];

/**
 * Finds expressions that may backtrack and have no reason in `ACCEPTED`. Returns each with its file.
 * @param before what a file was before, whose expressions are known; by default nothing
 */
export function findBacktracking(
	files: string[],
	before: (file: string) => string | undefined = () => undefined,
): string[] {
	const growths = new Map<string, string | null>();
	const growth = (expression: Expression) => {
		const known = growths.get(expression.code);
		const result = known === undefined ? growthOf(expression) : known;
		growths.set(expression.code, result);
		return result;
	};
	return files.filter(isChecked).flatMap((file) => {
		const known = before(file);
		return expressionsOf(file)
			.filter(({ code }) => !(code in ACCEPTED || known?.includes(code)))
			.flatMap((expression) => {
				const why = growth(expression);
				return why === null ? [] : [`${file}: ${expression.code} may backtrack: ${why}.`];
			});
	});
}
