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

/** A declared or exported name, and its value (null if it is unknown). */
type Binding = [name: string, value: AnyNode | null];

/** Infers capabilities from a source without running it (docs/plugins.md#source-in-place). */
export function capabilitiesOf(source: string) {
	const methods = new Set<string>();
	const scheduled_tasks = new Set<string>();
	const jobs = new Set<string>();
	const program = tryParse(source);
	const declarations = (program?.body ?? []).flatMap(declaredNames);
	const values = new Map(declarations);
	/** Returns the declared value of an identifier, one level deep; other nodes unchanged. */
	const follow = (node: AnyNode | null) =>
		node?.type === "Identifier" ? (values.get(node.name) ?? null) : node;

	for (const [name, node] of (program?.body ?? []).flatMap((statement) => [
		...declaredNames(statement),
		...exportedNames(statement, follow),
	])) {
		const value = follow(node);
		if (name === "jobs") for (const [job] of properties(value)) jobs.add(job);
		else if (!mayBeFunction(value)) continue;
		else if (METHODS.includes(name)) methods.add(name);
		else if (TASK.test(name)) scheduled_tasks.add(name);
	}
	return {
		methods: [...methods],
		scheduled_tasks: [...scheduled_tasks],
		jobs: [...jobs],
	};
}

function tryParse(source: string): Program | null {
	try {
		return toProgram(source);
	} catch {
		return null;
	}
}

/** Returns the functions and variables that a top-level statement declares. */
function declaredNames(statement: AnyNode): Binding[] {
	switch (statement.type) {
		case "ExportNamedDeclaration":
		case "ExportDefaultDeclaration":
			return statement.declaration ? declaredNames(statement.declaration) : [];
		case "FunctionDeclaration":
			return statement.id ? [[statement.id.name, statement]] : [];
		case "VariableDeclaration":
			return statement.declarations.flatMap(({ id, init }): Binding[] =>
				id.type === "Identifier" && init ? [[id.name, init]] : [],
			);
		default:
			return [];
	}
}

/** Returns the named exports of a statement, in ES module or CommonJS syntax. */
function exportedNames(
	statement: AnyNode,
	follow: (node: AnyNode | null) => AnyNode | null,
): Binding[] {
	switch (statement.type) {
		case "ExportNamedDeclaration":
			return statement.specifiers.flatMap(({ exported, local }): Binding[] => {
				const name = key(exported, false);
				return name ? [[name, statement.source ? null : local]] : [];
			});
		case "ExportDefaultDeclaration":
			return properties(follow(statement.declaration));
		case "ExpressionStatement":
			return assignedNames(statement.expression).flatMap(([{ left }, value]): Binding[] => {
				if (isModule(left)) return properties(follow(value));
				if (left.type !== "MemberExpression") return [];
				const name = key(left.property, left.computed);
				return name && (isModule(left.object) || isExports(left.object)) ? [[name, value]] : [];
			});
		default:
			return [];
	}
}

/** Returns the assignments in a chain `a = b = value`, each with the final value. */
function assignedNames(node: AnyNode): [AssignmentExpression, AnyNode][] {
	const chain: AssignmentExpression[] = [];
	let value = node;
	while (value.type === "AssignmentExpression") {
		chain.push(value);
		value = value.right;
	}
	return chain.map((assignment) => [assignment, value]);
}

const isExports = (node: AnyNode) => node.type === "Identifier" && node.name === "exports";

const isModule = (node: AnyNode) =>
	node.type === "MemberExpression" &&
	node.object.type === "Identifier" &&
	node.object.name === "module" &&
	key(node.property, node.computed) === "exports";

function properties(node: AnyNode | null): Binding[] {
	if (node?.type !== "ObjectExpression") return [];
	return node.properties.flatMap((property): Binding[] => {
		if (property.type !== "Property") return [];
		const name = key(property.key, property.computed);
		return name ? [[name, property.value]] : [];
	});
}

/** Returns the property name if it is in the source; null if it is computed at run time. */
function key(node: AnyNode, computed: boolean) {
	if (node.type === "Identifier" && !computed) return node.name;
	return node.type === "Literal" && node.value != null ? String(node.value) : null;
}

/** Whether the value may be a function. This includes the result of a call, which is unknown. */
const mayBeFunction = (value: AnyNode | null) =>
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
