import * as z from "zod";
import { hasScope } from "../../access/scopes.ts";
import { LEVEL_NAMES } from "../../db/schema/levels.ts";
import type { Caller } from "./caller.ts";

const Operation = z.object({
	operationId: z.string(),
	summary: z.string(),
	description: z.string(),
	tag: z.string(),
	method: z.string(),
	/** The path, with `{name}` for each parameter. */
	path: z.string(),
	scope: z.string(),
	/** The names of its query parameters. */
	query: z.array(z.string()),
	body: z.boolean(),
	/** The names of the fields of its body, with dots between nested ones, and without indexes. */
	fields: z.array(z.string()),
});
export type Operation = z.infer<typeof Operation>;

/** The index of operations, from public/operations.json. It is the same for every caller. */
let index: Operation[] | undefined;

/** What a person does themselves: a model that is misled could not make it undone. */
const NEVER = ["deleteUser"];

/** Returns the operations of the API that require a key, and that a model may call. */
export async function operationsOf(caller: Caller): Promise<Operation[]> {
	index ??= z
		.array(Operation)
		.parse(await caller.asset("/operations.json"))
		.filter(({ operationId }) => !NEVER.includes(operationId));
	return index;
}

/** An error in the arguments of a tool, for the model. */
export class ArgumentsError extends Error {}

/** Returns the operation with this id. Throws ArgumentsError if there is none. */
export async function findOperation(caller: Caller, operationId: string): Promise<Operation> {
	const operations = await operationsOf(caller);
	const operation = operations.find((operation) => operation.operationId === operationId);
	if (!operation)
		throw new ArgumentsError(
			`There is no operation "${operationId}". Find one with list_operations.`,
		);
	return operation;
}

export const isRead = ({ method }: Operation) => method === "GET";

/** Whether the operation returns a page of a list or a feed. */
export const isList = ({ query }: Operation) => query.includes("limit");

/** Whether the operation returns a page of a feed, which continues after an id. */
export const isFeed = (operation: Operation) =>
	isList(operation) && !operation.query.includes("offset");

const pathParameters = ({ path }: Operation) =>
	Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);

/** Returns the operation for the response of list_operations. */
export function summarize(operation: Operation, scopes: string[]) {
	const { operationId, summary, tag, method, path, scope } = operation;
	const allowed = hasScope(scopes, scope);
	return { operationId, summary, tag, method, path, changes: !isRead(operation), scope, allowed };
}

export const Parameters = z.record(
	z.string(),
	// Lists are two types, because some models take no schema with several types.
	z.union([z.string(), z.number(), z.boolean(), z.array(z.string()), z.array(z.number())]),
);
export type Parameters = z.infer<typeof Parameters>;

/** Returns a segment of a path. URLs can't contain `.` and `..` as names. */
function segment(name: string, value: Parameters[string] | undefined) {
	const text = String(value ?? "");
	if (text === "") throw new ArgumentsError(`The parameter "${name}" is missing.`);
	if (text === "." || text === "..")
		throw new ArgumentsError(`"${text}" can't be used as ${name}.`);
	return encodeURIComponent(text.toWellFormed()).replaceAll("%40", "@");
}

/**
 * Returns the path of a request to an operation, with its query.
 * @throws ArgumentsError if a parameter is missing, or the operation has none with this name
 */
export function pathOf(operation: Operation, parameters: Parameters): string {
	const inPath = pathParameters(operation);
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters)) {
		if (inPath.includes(name)) continue;
		if (!operation.query.includes(name)) {
			const names = [...inPath, ...operation.query].join(", ") || "none";
			throw new ArgumentsError(
				`${operation.operationId} has no parameter "${name}". Its parameters: ${names}.`,
			);
		}
		for (const item of [value].flat()) query.append(name, String(item));
	}
	const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => segment(name, parameters[name]));
	return query.size > 0 ? `${path}?${query}` : path;
}

const BY_NAME = new Map<unknown, number>(Object.entries(LEVEL_NAMES));

/** Replaces names of levels by their numbers in a field, and in the fields below it. */
function replace(value: unknown, field = ""): unknown {
	if (Array.isArray(value)) return value.map((item) => replace(item, field));
	if (value instanceof Object)
		return Object.fromEntries(
			Object.entries(value).map(([name, inner]) => [name, replace(inner, name)]),
		);
	return field === "level" ? (BY_NAME.get(value) ?? value) : value;
}

/**
 * Replaces names of levels in a body by the numbers that the API takes. Other bodies have no field
 * `level`, except in what users write.
 */
export const numberLevels = ({ fields }: Operation, body: unknown): unknown =>
	fields.some((field) => field.split(".").at(-1) === "level") ? replace(body) : body;
