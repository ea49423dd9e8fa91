import type { AnyNode, AssignmentExpression, Program } from "acorn";
import { toProgram } from "./compile.ts";

const METHODS = [
	"setupPlugin",
	"teardownPlugin",
	"getSettings",
	"processEvent",
	"onEvent",
	"onSnapshot",
	"exportEvents",
	"composeWebhook",
];
const TASK = /^runEvery(Minute|Hour|Day)/;

/** A name that others can see, and what it stands for; null: it isn't known. */
type Named = [name: string, value: AnyNode | null];

/**
 * What a plugin can do, read from its JavaScript or TypeScript without running it (docs/plugins.md#source-in-place).
 * Code that can't be parsed can do nothing.
 */
export function capabilitiesOf(source: string) {
	const methods = new Set<string>();
	const scheduled_tasks = new Set<string>();
	const jobs = new Set<string>();
	const program = parsed(source);
	const top = (program?.body ?? []).flatMap(declaredNames);
	const values = new Map(top);
	/** What a name stands for, through one other name. */
	const follow = (node: AnyNode | null) =>
		node?.type === "Identifier" ? (values.get(node.name) ?? null) : node;

	for (const [name, node] of (program?.body ?? []).flatMap((statement) => [
		...declaredNames(statement),
		...exportedNames(statement, follow),
	])) {
		const value = follow(node);
		if (name === "jobs") for (const [job] of properties(value)) jobs.add(job);
		else if (!callable(value)) continue;
		else if (METHODS.includes(name)) methods.add(name);
		else if (TASK.test(name)) scheduled_tasks.add(name);
	}
	return {
		methods: [...methods],
		scheduled_tasks: [...scheduled_tasks],
		jobs: [...jobs],
	};
}

function parsed(source: string): Program | null {
	try {
		return toProgram(source);
	} catch {
		return null;
	}
}

/** The functions and variables that a statement of the top level declares. */
function declaredNames(statement: AnyNode): Named[] {
	switch (statement.type) {
		case "ExportNamedDeclaration":
		case "ExportDefaultDeclaration":
			return statement.declaration ? declaredNames(statement.declaration) : [];
		case "FunctionDeclaration":
			return statement.id ? [[statement.id.name, statement]] : [];
		case "VariableDeclaration":
			return statement.declarations.flatMap(({ id, init }): Named[] =>
				id.type === "Identifier" && init ? [[id.name, init]] : [],
			);
		default:
			return [];
	}
}

/** What a statement exports by name, as an ES module or as CommonJS. */
function exportedNames(
	statement: AnyNode,
	follow: (node: AnyNode | null) => AnyNode | null,
): Named[] {
	switch (statement.type) {
		case "ExportNamedDeclaration":
			return statement.specifiers.flatMap(({ exported, local }): Named[] => {
				const name = key(exported, false);
				return name ? [[name, statement.source ? null : local]] : [];
			});
		case "ExportDefaultDeclaration":
			return properties(follow(statement.declaration));
		case "ExpressionStatement":
			return assignedNames(statement.expression).flatMap(([{ left }, value]): Named[] => {
				if (isModule(left)) return properties(follow(value));
				if (left.type !== "MemberExpression") return [];
				const name = key(left.property, left.computed);
				return name && (isModule(left.object) || isExports(left.object)) ? [[name, value]] : [];
			});
		default:
			return [];
	}
}

/** The assignments of `a = b = …`, each with the value that it ends in. */
function assignedNames(node: AnyNode): [AssignmentExpression, AnyNode][] {
	const chain: AssignmentExpression[] = [];
	let value = node;
	while (value.type === "AssignmentExpression") {
		chain.push(value);
		value = value.right;
	}
	return chain.map((one) => [one, value]);
}

const isExports = (node: AnyNode) => node.type === "Identifier" && node.name === "exports";

const isModule = (node: AnyNode) =>
	node.type === "MemberExpression" &&
	node.object.type === "Identifier" &&
	node.object.name === "module" &&
	key(node.property, node.computed) === "exports";

function properties(node: AnyNode | null): Named[] {
	if (node?.type !== "ObjectExpression") return [];
	return node.properties.flatMap((property): Named[] => {
		if (property.type !== "Property") return [];
		const name = key(property.key, property.computed);
		return name ? [[name, property.value]] : [];
	});
}

/** A name in the text; null where it is only known when the code runs. */
function key(node: AnyNode, computed: boolean) {
	if (node.type === "Identifier" && !computed) return node.name;
	return node.type === "Literal" && node.value != null ? String(node.value) : null;
}

/** Whether it may be a function: what a call answers isn't known without running it. */
const callable = (value: AnyNode | null) =>
	value === null ||
	![
		"Literal",
		"TemplateLiteral",
		"ObjectExpression",
		"ArrayExpression",
		"ClassExpression",
		"UnaryExpression",
		"BinaryExpression",
		"UpdateExpression",
		"NewExpression",
	].includes(value.type);
