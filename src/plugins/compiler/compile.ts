import { type Options, type Program, parse } from "acorn";
import { type Transform, transform } from "sucrase";
import State from "sucrase/dist/esm/parser/tokenizer/state.js";
import { MAIN_FILES } from "./file_names.ts";

/** The compiled JavaScript, or the reason why the source doesn't compile. */
export type Compiled = { compiled: string; error: null } | { compiled: null; error: string };

/** Sucrase backtracks exponentially: 40 characters could take years. So rereads are counted. */
const MAX_REREADS = 20;
let remainingRereads = 0;
const { restoreFromSnapshot } = State.prototype;
State.prototype.restoreFromSnapshot = function (snapshot) {
	remainingRereads -= this.pos - snapshot.pos;
	if (remainingRereads < 0) throw new RangeError("The parser backtracked too often.");
	restoreFromSnapshot.call(this, snapshot);
};

/** Compiles a main file to a script (`toScript`), one for browsers to plain JavaScript. */
export function compile(filename: string, text: string): Compiled {
	if (MAIN_FILES.includes(filename)) return toScript(text);
	return attempt(() => {
		const isJsx = filename.endsWith("x");
		const compiled = transpile(text, isJsx ? ["typescript", "jsx"] : ["typescript"]);
		parseAs(compiled, "module");
		return compiled;
	});
}

/**
 * Compiles a plugin's index.js or index.ts, an ES module or CommonJS, to the body of a function
 * with the parameters `module`, `exports` and `require`. The result is parsed as a script, so it
 * can't close that function and escape from it.
 */
function toScript(source: string): Compiled {
	return attempt(() => {
		const javascript = toJavaScript(source);
		const script = isModule(parseAny(javascript)) ? transpile(javascript, ["imports"]) : javascript;
		parseAs(script, "script");
		return script.replace(/^#!.*/, "");
	});
}

/** Whether the source has imports or exports. Otherwise it is CommonJS. */
const isModule = ({ body }: Program) => body.some(({ type }) => /^(Import|Export)/.test(type));

/** Parses a source. Throws SyntaxError, or RangeError if it is nested too deeply. */
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

/** Parses the text as a module, or if that fails, as a script. */
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

/** Returns the message of a parser's error, without the file name that Sucrase starts it with. */
const explain = (error: unknown) =>
	error instanceof RangeError || !(error instanceof Error)
		? "The source is nested too deeply."
		: error.message.replace(/^Error transforming [^:]*: /, "");
