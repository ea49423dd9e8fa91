/** The type of a single file of sucrase: compile.ts must patch the same parser module that `transform` uses. */
declare module "sucrase/dist/esm/parser/tokenizer/state.js" {
	export { default } from "sucrase/dist/types/parser/tokenizer/state";
}
