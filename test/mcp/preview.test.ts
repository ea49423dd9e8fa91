import { describe, expect, test } from "vitest";
import { connect } from "../support/mcp.ts";
import { routesOf, sample } from "../support/routes.ts";
import { furnished, join, keyFor, world } from "../support/world.ts";
import { testPreviews } from "./preview.ts";

const CURRENT = { organization_id: "@current" };
const NOBODY = "00000000-0000-0000-0000-000000000000";

testPreviews([
	...sample.filter(({ method }) => method !== "GET"),
	...routesOf(
		"POST /api/organizations/:organization_id/invites/bulk",
		"POST /api/organizations/:organization_id/batch_exports/:id/pause",
		"PATCH /api/organizations/:organization_id/pipeline_destinations/:id/update_source",
	),
]);

describe("a preview", () => {
	test.each([
		["a level that doesn't exist", { level: "boss" }, "level", "A valid integer is required."],
		["a level that isn't a choice", { level: 2 }, "level", '"2" is not a valid choice.'],
		["unknown fields", { x: 1, level: 8, y: {} }, "x", "Unknown fields: x, y."],
	])("rejects %s as the change does", async (_, body, attr, detail) => {
		const { key, id } = await world();
		const user = await join(id, 1);
		const { tool } = await connect(key);
		const parameters = { ...CURRENT, user__uuid: user.uuid };
		const sent = { operationId: "updateMember", parameters, body };
		const rejected = await tool("change", sent);
		expect(rejected).toMatchObject({ isError: true, status: 400, error: { attr, detail } });
		expect((await tool("change", { ...sent, confirm: true })).error).toEqual(rejected.error);
	});

	test("names unknown fields also in lists and in objects", async () => {
		const { key, project } = await world();
		const { tool } = await connect(key);
		const invite = { target_email: "a@tenantry.test", private_project_access: [] };
		expect(
			await tool("change", {
				operationId: "createInvites",
				parameters: CURRENT,
				body: [
					{ ...invite, emial: "x" },
					{
						target_email: "b@tenantry.test",
						private_project_access: [{ id: project, level: 1, x: 1 }],
					},
				],
			}),
		).toMatchObject({
			error: { detail: "Unknown fields: 0__emial, 1__private_project_access__0__x." },
		});
		expect(
			await tool("change", {
				operationId: "ingestEvents",
				parameters: { project_id: project },
				body: { event: "one", distinct_id: "a", properties: { free: { text: 1 } }, x: 1 },
			}),
		).toMatchObject({ error: { detail: "Unknown field: 0__x." } });
	});

	test("has the errors of the key, the level, the object and If-Match", async () => {
		const { key, id } = await world();
		const user = await join(id, 1);
		const named = { operationId: "updateOrganization", parameters: { id }, body: { name: "New" } };
		const stranger = await world();
		const { owner } = stranger;
		const few = await keyFor(owner.id, { scopes: ["organization:read"] });
		for (const [with_, given, status, detail] of [
			[few, { ...named, parameters: { id: "@current" } }, 403, "missing required scope"],
			[user.key, named, 403, "access level is insufficient"],
			[stranger.key, named, 404, "Not found."],
			[stranger.key, { ...named, body: { x: 1 } }, 404, "Not found."],
			[key, { ...named, ifMatch: '"old"' }, 412, "has changed"],
			[
				key,
				{
					operationId: "updateMember",
					parameters: { organization_id: id, user__uuid: NOBODY },
					body: {},
				},
				404,
				"Not found.",
			],
			[
				user.key,
				{
					operationId: "updateMember",
					parameters: { organization_id: id, user__uuid: user.uuid },
					body: { level: 8, x: 1 },
				},
				400,
				"Unknown field: x.",
			],
		] as const) {
			const { tool } = await connect(with_);
			const rejected = await tool("change", given);
			expect(rejected).toMatchObject({ isError: true, status });
			expect(rejected.error.detail).toContain(detail);
		}
	});

	test("can't be asked for by a request from outside, whose unknown fields are ignored", async () => {
		const { here } = await world();
		const { status, body } = await here("PATCH", "", {
			body: { name: "Renamed", nonsense: 1 },
			headers: { "x-preview": "true" },
		});
		expect([status, body.name]).toEqual([200, "Renamed"]);
	});
});

describe("the name of a level", () => {
	test("is accepted where the API takes its number", async () => {
		const { key, id, project, here } = await world();
		const user = await join(id, 1);
		const { tool } = await connect(key);
		const change = async (operationId: string, body: object, more: object = CURRENT) => {
			const preview = await tool("change", { operationId, parameters: more, body });
			const done = await tool("change", preview.confirmed);
			return [preview.would.body, done.data];
		};
		const target_email = `${crypto.randomUUID()}@tenantry.test`;
		for (const [level, number] of [
			["admin", 8],
			["owner", 15],
			["member", 1],
			[8, 8],
			["8", 8],
		] as const)
			expect(
				await change("updateMember", { level }, { ...CURRENT, user__uuid: user.uuid }),
			).toMatchObject([{ level: level === "8" ? "8" : number }, { level: number }]);
		expect(await change("createInvite", { target_email, level: "admin" })).toMatchObject([
			{ level: 8 },
			{ level: 8 },
		]);
		expect(await change("createInvites", [{ target_email, level: "owner" }])).toMatchObject([
			[{ level: 15 }],
			{ level: 15 },
		]);
		expect(await change("createServiceAccount", { name: "Bot", level: "member" })).toMatchObject([
			{ level: 1 },
			{ level: 1 },
		]);
		await here("PATCH", `/projects/${project}`, { body: { access_control: true } });
		expect(
			await change(
				"addProjectMember",
				{ user_uuid: user.uuid, level: "admin" },
				{ project_id: project },
			),
		).toMatchObject([{ level: 8 }, { level: 8 }]);
	});

	test("stays as it is in what users write", async () => {
		const { key, project } = await world();
		const { tool } = await connect(key);
		const body = [{ event: "e", distinct_id: "a", properties: { level: "owner" } }];
		const sent = { operationId: "ingestEvents", parameters: { project_id: project }, body };
		expect((await tool("change", sent)).would.body).toEqual(body);
	});
});

test("the states of runs and deliveries are accepted in any case", async () => {
	const home = await furnished();
	const { tool } = await connect(home.key);
	const parameters = { ...CURRENT, id: home.batch_export };
	for (const status of ["failed", "Failed", ["cancelled", "FAILED"]])
		expect(
			await tool("read", {
				operationId: "listBatchExportRuns",
				parameters: { ...parameters, status },
			}),
		).toMatchObject({ isError: false });
});
