import { type Options, type Program, parse } from "acorn";
import { type Transform, transform } from "sucrase/dist/index.js";
import * as state from "sucrase/dist/parser/tokenizer/state.js";
import { type Compiled, MAINS } from "./main_file.ts";

/**
 * Sucrase backtracks when its first guess at the syntax was wrong, and nested backtracking is
 * exponential: some inputs of 40 characters would take years. It has no limit of its own, so the
 * characters that it reads again are counted here.
 */
const MAX_REREADS = 20;
let remainingRereads = 0;
const { prototype } = state.default.default ?? state.default;
const { restoreFromSnapshot } = prototype;
prototype.restoreFromSnapshot = function (snapshot) {
	remainingRereads -= this.pos - snapshot.pos;
	if (remainingRereads < 0) throw new RangeError("The parser backtracked too often.");
	restoreFromSnapshot.call(this, snapshot);
};

/** Transforms for the files that browsers load. */
const BROWSER = new Map<string, Transform[]>([
	["site.ts", ["typescript"]],
	["frontend.tsx", ["typescript", "jsx"]],
]);

/**
 * Compiles a plugin's file when it is saved. A main file becomes a script (`toScript`). A file that
 * browsers load becomes JavaScript, and its JSX calls to `React.createElement`. For other files,
 * both `compiled` and `error` are null.
 */
export function compile(
	filename: string,
	text: string,
): Compiled | { compiled: null; error: null } {
	if (MAINS.includes(filename)) return toScript(text);
	const transforms = BROWSER.get(filename);
	if (!transforms) return { compiled: null, error: null };
	return attempt(() => {
		const compiled = transpile(text, transforms);
		parseAs(compiled, "module");
		return compiled;
	});
}

/**
 * Compiles a plugin's index.js or index.ts, an ES module or CommonJS, to the body of a function
 * with the parameters `module`, `exports` and `require`. The result is parsed as a script, so it
 * can't close that function and escape from it.
 */
export function toScript(source: string): Compiled {
	return attempt(() => {
		const javascript = toJavaScript(source);
		const script = isModule(parseAny(javascript)) ? transpile(javascript, ["imports"]) : javascript;
		parseAs(script, "script");
		return script.replace(/^#!.*/, "");
	});
}

/** Without imports and exports it is CommonJS, which may be in sloppy mode. */
const isModule = ({ body }: Program) => body.some(({ type }) => /^(Import|Export)/.test(type));

/**
 * Parses JavaScript or TypeScript.
 * @throws SyntaxError, or RangeError if the source is nested too deeply
 */
export const toProgram = (source: string) => parseAny(toJavaScript(source));

/** Valid JavaScript must not be parsed as TypeScript, where `a < b > (c)` means something else. */
function toJavaScript(source: string) {
	try {
		parseAny(source);
		return source;
	} catch {
		return transpile(source, ["typescript"]);
	}
}

/** Parses the text as a module, or else as a script. */
function parseAny(text: string): Program {
	try {
		return parseAs(text, "module");
	} catch (error) {
		try {
			return parseAs(text, "script");
		} catch {
			throw error;
		}
	}
}

const parseAs = (text: string, sourceType: NonNullable<Options["sourceType"]>) =>
	parse(text, {
		ecmaVersion: "latest",
		sourceType,
		allowAwaitOutsideFunction: true,
	});

function transpile(text: string, transforms: Transform[]) {
	remainingRereads = MAX_REREADS * (text.length + 1000);
	return transform(text, {
		transforms,
		disableESTransforms: true,
		production: true,
		preserveDynamicImport: true,
	}).code;
}

function attempt(work: () => string): Compiled {
	try {
		return { compiled: work(), error: null };
	} catch (error) {
		return { compiled: null, error: explain(error) };
	}
}

/**
 * Both parsers end their messages with "(line:column)"; Sucrase also prepends a file name, which is
 * removed.
 */
const explain = (error: unknown) =>
	error instanceof RangeError || !(error instanceof Error)
		? "The source is nested too deeply."
		: error.message.replace(/^Error transforming [^:]*: /, "");
