/** A single file of sucrase: compile.ts patches the parser module that `transform` uses. */
declare module "sucrase/dist/esm/parser/tokenizer/state.js" {
	export { default } from "sucrase/dist/types/parser/tokenizer/state";
}
