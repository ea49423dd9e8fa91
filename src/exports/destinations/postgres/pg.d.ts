/** Types for single files of pg, whose main module also loads a connection pool. */
declare module "pg/lib/client.js" {
	export { Client as default } from "pg";
}
declare module "pg/lib/query.js" {
	export { Query as default } from "pg";
}
declare module "pg/lib/utils.js" {
	import { escapeIdentifier } from "pg";

	const utils: { escapeIdentifier: typeof escapeIdentifier };
	export default utils;
}
