import { invalid } from "../../http/errors.ts";
import { parse as parseText } from "./parse.ts";
import { InvalidQueryError } from "./resolve.ts";

/**
 * Parses the query of an export (docs/exports.md#queries). Its normalised text, `schema.xql_query`,
 * parses to the same query.
 * @throws 400 if it is invalid
 */
export function parse(text: string) {
	try {
		return parseText(text);
	} catch (error) {
		if (!(error instanceof InvalidQueryError)) throw error;
		throw invalid("xql_query", error.message, error.code);
	}
}
