/** The parts of sucrase by file, so that the parser whose steps are counted is the one that is used. */
declare module "sucrase/dist/index.js" {
	export * from "sucrase";
}
declare module "sucrase/dist/parser/tokenizer/state.js" {
	import type State from "sucrase/dist/types/parser/tokenizer/state";

	/** As each bundler reads CommonJS. */
	const state: typeof State & { default?: typeof State };
	export default state;
}
