import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { hasScope } from "../../access/scopes.ts";
import type { Caller } from "./caller.ts";
import { describe } from "./describe.ts";
import {
	ArgumentsError,
	findOperation,
	isList,
	isRead,
	numberLevels,
	type Operation,
	operationsOf,
	Parameters,
	pathOf,
	summarize,
} from "./operations.ts";
import { bounded, readResult, rejected, result } from "./results.ts";
import { searchOf } from "./search.ts";

/** The number of results in a page without `limit`. */
const DEFAULT_LIMIT = 25;

/** The maximum number of operations that a search finds, and that it suggests if it finds none. */
const MAX_FOUND = 10;
const MAX_NEAREST = 5;

const operationId = z.string().describe("The operation's id, from list_operations.");

const parameters = Parameters.default({}).describe(
	'Values for the parameters of the path and the query, by name: {"organization_id": "@current"}.',
);

/** The schema of a value that is sent as a header. */
const headerValue = () => z.string().regex(/^[ -~]*$/, "Must be printable ASCII characters.");

const ListArguments = z.strictObject({
	tag: z.string().optional().describe("Only operations with this tag."),
	search: z
		.string()
		.max(200)
		.optional()
		.describe("What to do or find, in any words: why did the export fail."),
	changes: z.boolean().optional().describe("true: only operations that make changes."),
});

const ReadArguments = z.strictObject({
	operationId,
	parameters,
	from: z.int().min(0).optional().describe("Where to continue in a response that was too long."),
	bookmark: headerValue()
		.optional()
		.describe("The bookmark of a change, so that the response includes that change."),
});

const ChangeArguments = z.strictObject({
	operationId,
	parameters,
	body: z
		.union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
		.optional()
		.describe(
			"The JSON body, as described by describe_operation. A level can also be member, admin or owner.",
		),
	confirm: z
		.boolean()
		.optional()
		.describe(
			"true: make the change. Otherwise, the change is checked and described without making it.",
		),
	idempotencyKey: headerValue()
		.optional()
		.describe(
			"For POST: calls with the same key make the change only once. Use a new key for each change.",
		),
	ifMatch: headerValue()
		.optional()
		.describe("The etag of a read. The change is rejected if the object has changed since."),
});

/** Runs a tool. Wrong arguments, and errors that the caller didn't cause, become results. */
async function run(caller: Caller, tool: () => Promise<CallToolResult>): Promise<CallToolResult> {
	try {
		return await tool();
	} catch (error) {
		if (error instanceof ArgumentsError) return result({ error: error.message }, true);
		await caller.report(error);
		return result({ error: "A server error occurred." }, true);
	}
}

/** Returns the user, and what the key in use allows. */
async function whoami(caller: Caller) {
	const { scopes, organizations, projects, allowed_ips, expires_at } = caller.key;
	const key = {
		scopes,
		scoped_organizations: organizations,
		scoped_projects: projects,
		allowed_ips,
		expires_at,
	};
	const hint = "To read the user, the key needs the scope user:read.";
	if (!hasScope(scopes, "user:read")) return result({ user: null, key, hint });
	const response = await caller.send("GET", "/api/users/@me");
	return response.status === 200 ? result({ user: response.data, key }) : rejected(response);
}

async function list(caller: Caller, { tag, search, changes }: z.infer<typeof ListArguments>) {
	const all = await operationsOf(caller);
	const index = await searchOf(caller);
	const found = search ? index.find(search) : all;
	const wanted = found.filter(
		(operation) =>
			(tag === undefined || operation.tag.toLowerCase() === tag.toLowerCase()) &&
			(changes === undefined || changes === !isRead(operation)),
	);
	const summaries = (operations: Operation[], max = operations.length) =>
		operations.slice(0, max).map((operation) => summarize(operation, caller.key.scopes));
	const operations = summaries(wanted, search ? MAX_FOUND : undefined);
	if (operations.length > 0) return result({ operations });
	const nearest = !search ? [] : found.length > 0 ? found : index.guess(search);
	return result({
		operations,
		nearest: summaries(nearest, MAX_NEAREST),
		tags: [...new Set(all.map(({ tag }) => tag))],
	});
}

async function read(caller: Caller, given: z.infer<typeof ReadArguments>) {
	const operation = await findOperation(caller, given.operationId);
	if (!isRead(operation))
		throw new ArgumentsError(`${operation.operationId} changes something. Call change.`);
	const parameters = {
		...(isList(operation) && { limit: DEFAULT_LIMIT }),
		...given.parameters,
	};
	const response = await caller.send("GET", pathOf(operation, parameters), {
		headers: { "x-d1-bookmark": given.bookmark },
	});
	if (response.status >= 400) return rejected(response);
	return result({
		...readResult(operation, parameters, response.data, given.from),
		etag: response.headers.get("etag"),
		...linkOf(response.headers),
	});
}

/** Returns the link to the content of a response without a body. */
function linkOf(headers: Headers) {
	const link = headers.get("link");
	return link === null ? {} : { link };
}

/** Returns the body of a change, if the operation has one. */
function bodyOf(operation: Operation, body: z.infer<typeof ChangeArguments>["body"] = {}) {
	if (operation.body) return { body: numberLevels(operation, body) };
	if (Object.keys(body).length > 0)
		throw new ArgumentsError(`${operation.operationId} has no body.`);
	return {};
}

async function change(caller: Caller, given: z.infer<typeof ChangeArguments>) {
	const operation = await findOperation(caller, given.operationId);
	if (isRead(operation))
		throw new ArgumentsError(`${operation.operationId} changes nothing. Call read.`);
	const { method, summary, scope } = operation;
	const path = pathOf(operation, given.parameters);
	const body = bodyOf(operation, given.body);
	const isPreview = given.confirm !== true;
	const response = await caller.send(method, path, {
		...body,
		isPreview,
		headers: {
			"idempotency-key": method === "POST" && !isPreview ? given.idempotencyKey : undefined,
			"if-match": given.ifMatch,
		},
	});
	if (response.status >= 400) return rejected(response);
	if (isPreview) return preview(given, { summary, method, path, ...body }, scope);
	return result({
		status: response.status,
		...bounded(response.data),
		...linkOf(response.headers),
		...(response.headers.has("idempotency-replayed") && { replayed: true }),
		bookmark: response.headers.get("x-d1-bookmark"),
	});
}

/** Returns what a change would do, after it was checked, and the arguments to make it. */
function preview(
	given: z.infer<typeof ChangeArguments>,
	would: { method: string; summary: string; path: string },
	scope: string,
) {
	const key = would.method === "POST" && { idempotencyKey: crypto.randomUUID() };
	return result({
		changed: false,
		would,
		scope,
		allowed: true,
		hint: "Nothing was changed. To make this change, call change with the arguments in confirmed.",
		confirmed: { ...key, ...given, confirm: true },
	});
}

const READ_ONLY = { readOnlyHint: true, openWorldHint: false };

/** Adds the tools to a server (docs/mcp.md#tools). */
export function addTools(server: McpServer, caller: Caller) {
	server.registerTool(
		"whoami",
		{
			title: "Who am I?",
			description:
				"The user, their current organization and project, and what the API key in use allows.",
			inputSchema: z.strictObject({}),
			annotations: READ_ONLY,
		},
		() => run(caller, () => whoami(caller)),
	);
	server.registerTool(
		"list_operations",
		{
			title: "List operations",
			description:
				"The operations of the API: their ids, whether they make changes, and whether the key has their scope. A search finds the ten that match best, even if words are missing; without a tag or search, all are listed.",
			inputSchema: ListArguments,
			annotations: READ_ONLY,
		},
		(given) => run(caller, () => list(caller, given)),
	);
	server.registerTool(
		"describe_operation",
		{
			title: "Describe an operation",
			description:
				"What an operation does, its parameters, and the JSON Schema of its body with an example.",
			inputSchema: z.strictObject({ operationId }),
			annotations: READ_ONLY,
		},
		({ operationId }) =>
			run(caller, async () =>
				result(await describe(caller, await findOperation(caller, operationId))),
			),
	);
	server.registerTool(
		"read",
		{
			title: "Read",
			description: `Calls an operation that makes no changes (GET). Lists have pages of ${DEFAULT_LIMIT} results, unless parameters has a limit; next has the arguments for the next page.`,
			inputSchema: ReadArguments,
			annotations: READ_ONLY,
		},
		(given) => run(caller, () => read(caller, given)),
	);
	server.registerTool(
		"change",
		{
			title: "Change",
			description:
				"Calls an operation that makes changes (POST, PATCH, DELETE). Without confirm: true, it makes no change: it checks your access and the body, and returns what would be done and the arguments to do it. Show this to the user first.",
			inputSchema: ChangeArguments,
			annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
		},
		(given) => run(caller, () => change(caller, given)),
	);
}
