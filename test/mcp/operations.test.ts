import { describe, expect, test } from "vitest";
import index from "../../public/operations.json" with { type: "json" };
import { operations } from "../support/contract.ts";
import { connect } from "../support/mcp.ts";
import { keyFor, world } from "../support/world.ts";

const CURRENT = { organization_id: "@current" };

let shared: ReturnType<typeof connect> | undefined;

/** A client that several tests share, since connecting counts against a key's rate. */
const connected = async () => {
	shared ??= connect((await world()).key, { env: UNLIMITED });
	return shared;
};

const UNLIMITED = { REQUESTS: { limit: async () => ({ success: true }) } };

describe("operations", () => {
	test("the index has every operation that takes a key, as the document does", () => {
		const documented = operations.filter(({ scopes }) => scopes !== "");
		expect(index.map(({ operationId }) => operationId).sort()).toEqual(
			documented.map(({ operation }) => operation.operationId).sort(),
		);
		for (const { operationId, method, path, scope, query, description } of index) {
			const item = documented.find(({ operation }) => operation.operationId === operationId);
			expect([item?.method, item?.path, item?.scopes]).toEqual([method, path, scope]);
			const parameters = item?.operation.parameters.filter((parameter) => parameter.in === "query");
			expect(parameters?.map(({ name }) => name)).toEqual(query);
			expect(item?.operation.description).toBe(description);
		}
	});

	test("are found by tag and by words, with what the key may do", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id, { scopes: ["organization_member:read"] });
		const { tool } = await connect(key);
		expect((await tool("list_operations")).operations).toHaveLength(index.length);
		const { operations } = await tool("list_operations", { tag: "members", search: "LEVEL" });
		expect(operations[0]).toEqual({
			operationId: "updateMember",
			summary: "Change a member's level",
			tag: "Members",
			method: "PATCH",
			path: "/api/organizations/{organization_id}/members/{user__uuid}",
			changes: true,
			scope: "organization_member:write",
			allowed: false,
		});
		const reads = await tool("list_operations", { tag: "Members", changes: false });
		expect(reads.operations).toMatchObject([{ operationId: "listMembers", allowed: true }]);
		const none = await tool("list_operations", { tag: "no such tag" });
		expect(none).toMatchObject({ operations: [], nearest: [] });
		expect(none.tags).toContain("Members");
	});

	test.each(index.map(({ operationId }) => operationId))(
		"%s is described without references, in a length that a model can read",
		async (operationId) => {
			const { tool } = await connected();
			const described = await tool("describe_operation", { operationId });
			expect(described).toMatchObject({ operationId, description: expect.any(String) });
			expect(described.text.length).toBeLessThan(50_000);
			expect(described.text).not.toContain('"$ref"');
			const wanted = operations.find((item) => item.operation.operationId === operationId);
			const parameters = wanted?.operation.parameters.filter((item) => item.in !== "header");
			expect(described.parameters).toEqual(parameters);
			const hasJson = Boolean(wanted?.operation.requestBody?.content["application/json"]);
			expect([described.body !== undefined, described.example !== undefined]).toEqual([
				hasJson,
				hasJson,
			]);
		},
	);

	test("a field whose schema has a name keeps its own description", async () => {
		const { tool } = await connected();
		const { text } = await tool("describe_operation", { operationId: "createBatchExport" });
		expect(text).toContain("The destination's settings.");
	});

	test("an example that describe_operation gives can be sent", async () => {
		const { tool } = await connected();
		for (const operationId of ["createOrganization", "createInvite", "createOrganizationProject"]) {
			const { example } = await tool("describe_operation", { operationId });
			const parameters = operationId === "createOrganization" ? {} : CURRENT;
			const sent = { operationId, parameters, body: example, confirm: true };
			expect(await tool("change", sent)).toMatchObject({ isError: false, status: 201 });
		}
	});
});

test.each([
	["an unknown operation", "read", { operationId: "x" }, 'There is no operation "x".'],
	["a change in read", "read", { operationId: "createDomain" }, "Call change."],
	["a read in change", "change", { operationId: "listDomains" }, "Call read."],
	["a missing parameter", "read", { operationId: "listDomains" }, '"organization_id" is missing'],
	[
		"an unknown parameter",
		"read",
		{ operationId: "listDomains", parameters: { ...CURRENT, x: 1 } },
		'listDomains has no parameter "x". Its parameters: organization_id, ',
	],
	[
		"a parameter that leads elsewhere",
		"read",
		{ operationId: "listMembers", parameters: { organization_id: ".." } },
		'".." can\'t be used as organization_id.',
	],
	[
		"a bookmark that can't be sent",
		"read",
		{ operationId: "whoami", bookmark: "a\nb" },
		"bookmark: Must be printable ASCII characters.",
	],
	[
		"an ETag that can't be sent",
		"change",
		{ operationId: "deleteDomain", ifMatch: "☃" },
		"ifMatch: Must be printable ASCII characters.",
	],
	["an unknown argument", "whoami", { x: 1 }, "Unrecognized key"],
	["an argument of another type", "change", { operationId: "x", confirm: "yes" }, "confirm"],
])("%s is an error of the tool", async (_, name, given, message) => {
	const { tool } = await connected();
	expect(await tool(name, given)).toMatchObject({
		isError: true,
		text: expect.stringContaining(message.replaceAll('"', name === "whoami" ? '"' : '\\"')),
	});
});

test("a parameter can't leave its segment of the path", async () => {
	const { tool } = await connected();
	for (const organization_id of ["@current/../../users/@me?x=", "\ud800"])
		expect(
			await tool("read", { operationId: "listMembers", parameters: { organization_id } }),
		).toMatchObject({
			isError: true,
			status: 404,
			error: { detail: "Organization not found." },
		});
});
