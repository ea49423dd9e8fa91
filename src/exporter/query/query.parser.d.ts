/** What a query says, names and functions as they are written. */
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

/** `expected` is null where the grammar itself refuses, with the message for it. */
declare class Failure extends Error {
	expected: unknown[] | null;
}

export { Failure as SyntaxError };

export function parse(text: string): SaidQuery;
