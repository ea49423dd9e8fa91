import { type Options, type Program, parse } from "acorn";
import { type Transform, transform } from "sucrase/dist/index.js";
import * as state from "sucrase/dist/parser/tokenizer/state.js";

/**
 * The transpiler reads again what it took for something else, and again what is nested in that: some texts of 40
 * characters would take it years. It has no limit of its own, so each step back is counted here.
 */
const MAX_REREADS = 20;
let again = 0;
const { prototype } = state.default.default ?? state.default;
const { restoreFromSnapshot } = prototype;
prototype.restoreFromSnapshot = function (snapshot) {
	again -= this.pos - snapshot.pos;
	if (again < 0) throw new RangeError("Too much is read again.");
	restoreFromSnapshot.call(this, snapshot);
};

export type Compiled = { compiled: string; error: null } | { compiled: null; error: string };

/** What becomes of each file that browsers load; other files are kept as they are. */
const BROWSER = new Map<string, Transform[]>([
	["site.ts", ["typescript"]],
	["frontend.tsx", ["typescript", "jsx"]],
]);

/** JavaScript for browsers, where the file is for them; JSX becomes calls of `React.createElement`. */
export function compile(
	filename: string,
	text: string,
): Compiled | { compiled: null; error: null } {
	const transforms = BROWSER.get(filename);
	if (!transforms) return { compiled: null, error: null };
	return attempt(() => {
		const compiled = strip(text, transforms);
		read(compiled, "module");
		return compiled;
	});
}

/**
 * A plugin's index.js or index.ts as JavaScript that fits into a function of `module`, `exports` and `require`:
 * it may be an ES module or CommonJS, and stays within its own brackets.
 */
export function toScript(source: string): Compiled {
	return attempt(() => {
		const javascript = toJavaScript(source);
		const script = isModule(either(javascript)) ? strip(javascript, ["imports"]) : javascript;
		read(script, "script");
		return script.replace(/^#!.*/, "");
	});
}

/** What has neither imports nor exports is CommonJS, which need not be strict. */
const isModule = ({ body }: Program) => body.some(({ type }) => /^(Import|Export)/.test(type));

/**
 * The program in JavaScript or TypeScript.
 * @throws SyntaxError, or RangeError for what is nested too deeply
 */
export const toProgram = (source: string) => either(toJavaScript(source));

/** What is JavaScript already must not be read as TypeScript, where `a < b > (c)` is something else. */
function toJavaScript(source: string) {
	try {
		either(source);
		return source;
	} catch {
		return strip(source, ["typescript"]);
	}
}

function either(text: string): Program {
	try {
		return read(text, "module");
	} catch (error) {
		try {
			return read(text, "script");
		} catch {
			throw error;
		}
	}
}

const read = (text: string, sourceType: NonNullable<Options["sourceType"]>) =>
	parse(text, {
		ecmaVersion: "latest",
		sourceType,
		allowAwaitOutsideFunction: true,
	});

function strip(text: string, transforms: Transform[]) {
	again = MAX_REREADS * (text.length + 1000);
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

/** Both parsers end their messages with "(line:column)"; the transpiler begins its own with a file's name. */
const explain = (error: unknown) =>
	error instanceof RangeError || !(error instanceof Error)
		? "The source is nested too deeply."
		: error.message.replace(/^Error transforming [^:]*: /, "");
