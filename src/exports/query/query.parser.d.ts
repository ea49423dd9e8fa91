import type { ParsedExpression } from "./expression.ts";

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
