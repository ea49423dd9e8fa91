import type { QuerySchema } from "../db/schema.ts";
import type { Kind } from "../exporter/rows.ts";

/** What a query takes of an event: a column, a path into its JSON, a literal, or a function of such. */
export type Expression =
	| { type: "column"; name: string }
	| {
			type: "property";
			column: "properties" | "person_properties";
			path: string[];
	  }
	| { type: "literal"; value: string | number | boolean | null }
	| {
			type: "operation";
			operator: "+" | "-" | "*" | "/";
			left: Expression;
			right: Expression;
	  }
	| { type: "call"; name: string; args: Expression[] };

/** One column of what a query answers. */
export type Field = { name: string; kind: Kind; expression: Expression };

/** A query as it was understood. */
export type Query = { fields: Field[]; schema: QuerySchema };

export function parse(_text: string): Query {
	throw new Error("");
}
