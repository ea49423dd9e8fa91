import { type Expression, type Literal, NULL } from "./expression.ts";

const ESCAPES: Record<string, string> = {
	"\\": "\\\\",
	"\n": "\\n",
	"\r": "\\r",
	"\t": "\\t",
};

export const quoted = (text: string, quote: "'" | '"') =>
	`${quote}${text
		.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character)
		.replaceAll(quote, quote + quote)}${quote}`;

export const word = (text: string) =>
	/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(text) ? text : quoted(text, '"');

export const literal = (value: Literal) =>
	typeof value === "string" ? quoted(value, "'") : String(value);

/** Precedences, lowest first. */
const OR = 1;
const AND = 2;
const NOT = 3;
const TEST = 4;
const SUM = 5;
const PRODUCT = 6;
const OPERAND = 7;

/** Returns what is negated in `NOT IN` and the like; undefined if it is written as `NOT …`. */
function negatedTest(expression: Expression) {
	if (expression.type !== "predicate" || expression.name !== "not") return;
	const [test = NULL] = expression.args;
	return test.type === "predicate" && ["in", "like", "is null"].includes(test.name)
		? test
		: undefined;
}

function precedence(expression: Expression): number {
	switch (expression.type) {
		case "operation":
			return "+-".includes(expression.operator) ? SUM : PRODUCT;
		case "comparison":
			return TEST;
		case "predicate":
			switch (expression.name) {
				case "or":
					return OR;
				case "and":
					return AND;
				case "not":
					return negatedTest(expression) ? TEST : NOT;
				default:
					return TEST;
			}
		default:
			return OPERAND;
	}
}

type Write = (value: Literal) => string;

/** Returns the normalised text of an expression. `write` formats its literals. */
export function format(expression: Expression, write: Write = literal): string {
	const within = (part: Expression, least: number) =>
		precedence(part) < least ? `(${format(part, write)})` : format(part, write);
	switch (expression.type) {
		case "column":
			return expression.name;
		case "property":
			return [expression.column, ...expression.path.map(word)].join(".");
		case "literal":
			return write(expression.value);
		case "operation":
		case "comparison": {
			const level = precedence(expression);
			const { left, operator, right } = expression;
			const least = expression.type === "operation" ? level : SUM;
			return `${within(left, least)} ${operator} ${within(right, level + 1)}`;
		}
		case "predicate":
			return formatPredicate(expression, within);
		case "call":
			return `${expression.name}(${expression.args.map((arg) => format(arg, write)).join(", ")})`;
	}
}

function formatPredicate(
	expression: Extract<Expression, { type: "predicate" }>,
	within: (part: Expression, least: number) => string,
): string {
	const negated = negatedTest(expression);
	const { name, args } = negated ?? expression;
	const not = negated ? "NOT " : "";
	const [value = NULL, ...others] = args;
	switch (name) {
		case "or":
			return args.map((arg) => within(arg, AND)).join(" OR ");
		case "and":
			return args.map((arg) => within(arg, NOT)).join(" AND ");
		case "not":
			return `NOT ${within(value, NOT)}`;
		case "in":
			return `${within(value, SUM)} ${not}IN (${others.map((other) => within(other, OR)).join(", ")})`;
		case "like":
			return `${within(value, SUM)} ${not}LIKE ${others.map((other) => within(other, SUM)).join()}`;
		case "is null":
			return `${within(value, SUM)} IS ${not}NULL`;
	}
}

export const nameOf = (expression: Expression) =>
	expression.type === "property" ? (expression.path.at(-1) ?? "") : format(expression);
