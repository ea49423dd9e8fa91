/** A parsed expression, with names and functions as they were written. */
export type Said =
	| { type: "name"; parts: string[] }
	| { type: "literal"; value: string | number | boolean | null }
	| {
			type: "operation";
			operator: "+" | "-" | "*" | "/";
			left: Said;
			right: Said;
	  }
	| {
			type: "comparison";
			operator: "=" | "!=" | "<" | "<=" | ">" | ">=";
			left: Said;
			right: Said;
	  }
	| {
			type: "predicate";
			name: "and" | "or" | "not" | "in" | "like" | "is null";
			args: Said[];
	  }
	| { type: "call"; name: string; args: Said[] };

export type SaidQuery = {
	fields: { expression: Said; alias: string | null }[];
	table: string | null;
	where: Said | null;
};

/** `expected` is null if the grammar called `error`, whose message this error has. */
declare class Failure extends Error {
	expected: unknown[] | null;
}

export { Failure as SyntaxError };

export function parse(text: string): SaidQuery;
