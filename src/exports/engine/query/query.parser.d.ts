/** A parsed expression, with names and functions as they were written. */
export type ParsedExpression =
	| { type: "name"; parts: string[] }
	| { type: "literal"; value: string | number | bigint | boolean | null }
	| {
			type: "operation";
			operator: "+" | "-" | "*" | "/";
			left: ParsedExpression;
			right: ParsedExpression;
	  }
	| {
			type: "comparison";
			operator: "=" | "!=" | "<" | "<=" | ">" | ">=";
			left: ParsedExpression;
			right: ParsedExpression;
	  }
	| {
			type: "predicate";
			name: "and" | "or" | "not" | "in" | "like" | "is null";
			args: ParsedExpression[];
	  }
	| { type: "call"; name: string; args: ParsedExpression[] };

export type ParsedQuery = {
	fields: { expression: ParsedExpression; alias: string | null }[];
	table: string | null;
	where: ParsedExpression | null;
};

/** `expected` is null if the grammar called `error`, whose message this error has. */
declare class Failure extends Error {
	expected: unknown[] | null;
}

export { Failure as SyntaxError };

export function parse(text: string): ParsedQuery;
