import { expect, test } from "vitest";
import index from "../../public/operations.json" with { type: "json" };
import { describe } from "../../src/mcp/server/describe.ts";
import { findOperation } from "../../src/mcp/server/operations.ts";
import { operations, type Schema } from "../support/contract.ts";
import { offline } from "./offline.ts";

const ids = index.map(({ operationId }) => operationId);

const documented = operations.filter(({ scopes }) => scopes !== "");

const documentedAs = (id: string) =>
	documented.find(({ operation }) => operation.operationId === id);

const described = async (id: string) => describe(offline, await findOperation(offline, id));

test("the index has every operation that takes a key, as the document does, but those that send files", () => {
	const all = documented.map(({ operation }) => operation.operationId);
	expect(ids.toSorted()).toEqual(all.filter((id) => !id.startsWith("download")).sort());
	for (const { operationId, method, path, scope, query, description } of index) {
		const item = documentedAs(operationId);
		expect([item?.method, item?.path, item?.scopes]).toEqual([method, path, scope]);
		const parameters = item?.operation.parameters.filter((parameter) => parameter.in === "query");
		expect(parameters?.map(({ name }) => name)).toEqual(query);
		expect(item?.operation.description).toBe(description);
	}
});

// A model can't delete its person.
test.each(ids.filter((id) => id !== "deleteUser"))(
	"%s is described without references, in a length that a model can read",
	async (id) => {
		const answer = await described(id);
		expect(answer).toMatchObject({ operationId: id, description: expect.any(String) });
		const text = JSON.stringify(answer);
		expect(text.length).toBeLessThan(50_000);
		expect(text).not.toContain('"$ref"');
		const wanted = documentedAs(id)?.operation;
		const parameters = wanted?.parameters.filter((item) => item.in !== "header");
		expect(answer.parameters).toEqual(parameters);
		const fields = wanted?.requestBody?.content["application/json"]?.schema.properties;
		const hasJson =
			wanted?.requestBody !== undefined &&
			(!fields || Object.values(fields).some(({ readOnly }) => !readOnly));
		expect(["body" in answer, "example" in answer]).toEqual([hasJson, hasJson]);
	},
);

test("a field whose schema has a name keeps its own description", async () => {
	const text = JSON.stringify(await described("createBatchExport"));
	expect(text).toContain("The destination's settings.");
});

test("the name of a level is only replaced where a level is one of a membership", async () => {
	const having = index.flatMap(({ operationId, fields }) =>
		Array.from(fields, String)
			.filter((field) => field.split(".").at(-1) === "level")
			.map((field) => ({ operationId, field })),
	);
	expect(having.length).toBeGreaterThanOrEqual(8);
	for (const { operationId, field } of having) {
		const { body } = await described(operationId);
		const schema = field
			.split(".")
			.reduce<Schema>((inner, name) => (inner.items ?? inner).properties?.[name] ?? {}, {
				...body,
			});
		expect(JSON.stringify(schema)).toMatch(/"enum":\[1,8(,15)?\]/);
	}
});
