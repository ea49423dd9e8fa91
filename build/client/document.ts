/** The OpenAPI document that the client is built from. */
import { nameOf, readDocument, type Schema, withoutIgnored } from "./schema.ts";

export const document = withoutIgnored(readDocument());

/** Returns the schema that a reference refers to, or the schema itself if it isn't a reference. */
export function resolve(schema: Schema): Schema {
	const name = nameOf(schema);
	const found = name === undefined ? schema : document.components.schemas[name];
	if (!found) throw new Error(`There is no schema ${name}.`);
	return found;
}

export const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
