/** Finds the careless changes that could be made to a source file. */
import { parseAst } from "vitest/node";

/** A part of a file and what replaces it. */
export type Change = { start: number; end: number; text: string; what: string };

type Node = { type: string; start: number; end: number; [field: string]: unknown };

const isNode = (value: unknown): value is Node =>
	typeof value === "object" && value !== null && "type" in value && "start" in value;

const nodesIn = (value: unknown): Node[] => [value].flat().filter(isNode);

/** The operator that is written by mistake, as in an error by one or a wrong way round. */
const OPERATORS: Record<string, string> = {
	"<": "<=",
	"<=": "<",
	">": ">=",
	">=": ">",
	"===": "!==",
	"!==": "===",
	"+": "-",
	"-": "+",
	"&&": "||",
	"||": "&&",
};

/** The same in SQL. */
const IN_SQL: [RegExp, string][] = [
	[/\band\b/g, "or"],
	[/\bor\b/g, "and"],
	[/\bnot exists\b/g, "exists"],
	[/(?<!not )\bexists\b/g, "not exists"],
	[/\bis not null\b/g, "is null"],
	[/\bis null\b/g, "is not null"],
	[/(?<=\s)<(?=\s)/g, "<="],
	[/(?<=\s)>(?=\s)/g, ">="],
	[/<=/g, "<"],
	[/>=/g, ">"],
];

/** The functions whose arguments are the parts of a condition, a batch or a unit of work. */
const OF_PARTS = ["and", "or", "batch", "read", "write"];

/** Returns the name of a function or method that is called. */
function nameOf(callee: unknown) {
	const [inner] = nodesIn(
		isNode(callee) && callee.type === "MemberExpression" ? callee.property : callee,
	);
	return inner?.type === "Identifier" ? String(inner.name) : undefined;
}

/** Returns the changes that drop one of several items, with the comma after or before it. */
const dropEach = (items: Node[], what: string): Change[] =>
	items.length < 2
		? []
		: items.map(({ start, end }, i) => {
				const next = items[i + 1];
				const from = next ? start : (items[i - 1]?.end ?? start);
				return { start: from, end: next?.start ?? end, text: "", what };
			});

/** Returns the changes of a call: dropped conditions, and dropped parts of a batch. */
function ofCall({ callee, arguments: given, end }: Node): Change[] {
	const [target] = nodesIn(callee);
	const name = nameOf(callee);
	const [object] = nodesIn(target?.object);
	if (name === "where" && object) return [{ start: object.end, end, text: "", what: "no where" }];
	if (name === undefined || !OF_PARTS.includes(name)) return [];
	const parts = nodesIn(given).flatMap((part) =>
		part.type === "ArrayExpression"
			? dropEach(nodesIn(part.elements), `a dropped part of ${name}`)
			: part.type === "ObjectExpression"
				? dropEach(nodesIn(part.properties), `a dropped part of ${name}`)
				: [],
	);
	return [...dropEach(nodesIn(given), `a dropped part of ${name}`), ...parts];
}

function ofOperator({ start, end, left, right, operator }: Node, code: string): Change[] {
	const [[before], [after]] = [nodesIn(left), nodesIn(right)];
	if (!before || !after) return [];
	const sign = String(operator);
	const at = code.indexOf(sign, before.end);
	if (sign === "??")
		return [{ start, end, text: code.slice(start, at).trimEnd(), what: "no default" }];
	const text = OPERATORS[sign];
	return text === undefined
		? []
		: [{ start: at, end: at + sign.length, text, what: `${sign} → ${text}` }];
}

function ofLiteral({ start, end, value }: Node): Change[] {
	if (typeof value === "boolean")
		return [{ start, end, text: String(!value), what: "other constant" }];
	if (typeof value !== "number") return [];
	return [{ start, end, text: String(value + 1), what: "other constant" }];
}

const ofSql = ({ tag, quasi }: Node, code: string): Change[] =>
	nameOf(tag) !== "sql" || !isNode(quasi)
		? []
		: nodesIn(quasi.quasis).flatMap(({ start, end }) =>
				IN_SQL.flatMap(([pattern, text]) =>
					[...code.slice(start, end).matchAll(pattern)].map(({ index, 0: word }) => ({
						start: start + index,
						end: start + index + word.length,
						text,
						what: `${word} → ${text} in SQL`,
					})),
				),
			);

const negated = (test: unknown, code: string): Change[] =>
	nodesIn(test).map(({ start, end }) => ({
		start,
		end,
		text: `!(${code.slice(start, end)})`,
		what: "negated condition",
	}));

function ofNode(node: Node, code: string): Change[] {
	const { type, start, end } = node;
	switch (type) {
		case "IfStatement":
		case "ConditionalExpression":
		case "WhileStatement":
			return negated(node.test, code);
		case "BinaryExpression":
		case "LogicalExpression":
			return ofOperator(node, code);
		case "ExpressionStatement":
		case "ThrowStatement":
			return [{ start, end, text: ";", what: "dropped statement" }];
		case "AwaitExpression":
			return nodesIn(node.argument).map((argument) => ({
				start,
				end: argument.start,
				text: "",
				what: "dropped await",
			}));
		case "CallExpression":
			return ofCall(node);
		case "TaggedTemplateExpression":
			return ofSql(node, code);
		case "Literal":
			return ofLiteral(node);
		default:
			return [];
	}
}

/** Whether a node can't decide anything at run time: types, imports, and names of other modules. */
const isSilent = ({ type }: Node) =>
	(type.startsWith("TS") && !/^TS(As|Satisfies|NonNull)/.test(type)) ||
	/^(Import|ExportAll)/.test(type);

/** Returns all changes of a TypeScript file, in the order of the file. */
export function changesOf(code: string): Change[] {
	const visit = (node: Node): Change[] =>
		isSilent(node)
			? []
			: [...ofNode(node, code), ...Object.values(node).flatMap(nodesIn).flatMap(visit)];
	const program: unknown = parseAst(code, { lang: "ts" });
	return nodesIn(program)
		.flatMap(visit)
		.sort((a, b) => a.start - b.start || a.end - b.end);
}

export const changed = (code: string, { start, end, text }: Change) =>
	code.slice(0, start) + text + code.slice(end);
