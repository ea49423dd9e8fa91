/**
 * Types for single files of sucrase: compile.ts must patch the same parser module that `transform`
 * uses.
 */
declare module "sucrase/dist/index.js" {
	export * from "sucrase";
}
declare module "sucrase/dist/parser/tokenizer/state.js" {
	import type State from "sucrase/dist/types/parser/tokenizer/state";

	/** Bundlers differ in whether a CommonJS module's default export is nested under `default`. */
	const state: typeof State & { default?: typeof State };
	export default state;
}
