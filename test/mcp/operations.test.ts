import { describe, expect, test } from "vitest";
import index from "../../public/operations.json" with { type: "json" };
import { connect, UNLIMITED } from "../support/mcp.ts";
import { keyFor, world } from "../support/world.ts";

const CURRENT = { organization_id: "@current" };

let shared: ReturnType<typeof connect> | undefined;

/** A client that several tests share, since connecting counts against a key's rate. */
const connected = async () => {
	shared ??= connect((await world()).key, { env: UNLIMITED });
	return shared;
};

describe("operations", () => {
	test("are found by tag and by words, with what the key may do", async () => {
		const { owner } = await world();
		const key = await keyFor(owner.id, { scopes: ["organization_member:read"] });
		const { tool } = await connect(key);
		const all = (await tool("list_operations")).operations;
		expect(all).toHaveLength(index.length - 1);
		expect(JSON.stringify(all)).not.toContain("deleteUser");
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
		expect(reads.operations).toMatchObject([
			{ operationId: "listMembers", allowed: true },
			{ operationId: "reviewMembers", allowed: true },
			{ operationId: "getMemberDetails", allowed: true },
		]);
		const none = await tool("list_operations", { tag: "no such tag" });
		expect(none).toMatchObject({ operations: [], nearest: [] });
		expect(none.tags).toContain("Members");
	});

	test("are found by words in the order of the search, ten at most, among those of the filters", async () => {
		const { tool } = await connected();
		const find = async (given: object) => {
			const { operations, nearest, tags } = await tool("list_operations", { ...given });
			const idsOf = (list: { operationId: string }[] = []) =>
				list.map(({ operationId }) => operationId);
			return { found: idsOf(operations), nearest: idsOf(nearest), tags };
		};
		expect((await find({ search: "webhook" })).found).toHaveLength(10);
		const members = await find({ search: "level", tag: "members", changes: true });
		expect(members.found[0]).toBe("updateMember");
		expect(members.found.every((id) => id.includes("Member"))).toBe(true);
		// If the filters leave nothing, it suggests what it found, otherwise what is spelled alike.
		const filtered = await find({ search: "rotate", changes: false, tag: "Webhooks" });
		expect([filtered.found, filtered.nearest[0]]).toEqual([[], "rollWebhook"]);
		const { found, nearest, tags } = await find({ search: "verfy domian" });
		expect([found, nearest.length]).toEqual([[], 5]);
		expect(nearest).toContain("verifyDomain");
		expect(tags).toContain("Members");
		expect(await tool("list_operations", { search: "x".repeat(201) })).toMatchObject({
			isError: true,
		});
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
