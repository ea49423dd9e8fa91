import { expect, test } from "vitest";
import document from "../public/openapi.json" with { type: "json" };
import { operations, resolved, type Schema } from "./support/contract.ts";

test.each([
	["membership_level", [1, 8, 15]],
	["plugins_access_level", [0, 3, 6, 9]],
])("the document names the values of %s", (field, values) => {
	const item = operations.find(({ path }) => path === "/api/organizations/{id}");
	const answer = item?.operation.responses[200]?.content?.["application/json"];
	expect(resolved(answer?.schema ?? {}).properties?.[field]?.enum).toEqual(values);
});

/** The objects in a schema that allow no additional fields. */
const closed = (schema: Schema): Schema[] => {
	const item = resolved(schema);
	const inner = [
		...Object.values(item.properties ?? {}),
		...(item.items ? [item.items] : []),
		...(item.anyOf ?? []),
	];
	return [...(item.additionalProperties === false ? [item] : []), ...inner.flatMap(closed)];
};

test("bodies may have additional fields, except for the configs of destinations", () => {
	const strict = operations.flatMap((item) => {
		const schema = item.operation.requestBody?.content["application/json"]?.schema;
		return schema && closed(schema).length > 0 ? [item.path] : [];
	});
	expect(strict.length).toBeGreaterThan(5);
	for (const path of strict) expect(path).toMatch(/\/(batch_exports|audit_streams)/);
});

/** The places in a JSON value that are described by a sentence, and lack it. */
function undescribed(value: unknown, at: string): string[] {
	if (typeof value !== "object" || value === null) return [];
	return Object.entries(value).flatMap(([key, inner]) => {
		if (key === "example") return [];
		if (key !== "properties") return undescribed(inner, at);
		return Object.entries<{ description?: string }>(inner).flatMap(([name, field]) => [
			...(field.description ? [] : [`${at}: ${name}`]),
			...undescribed(field, at),
		]);
	});
}

test("every field, parameter and header is described", () => {
	const missing = [
		...Object.entries(document.components.schemas).flatMap(([name, schema]) =>
			undescribed(schema, name),
		),
		...Object.entries(document.components.headers).flatMap(([name, { description }]) =>
			description ? [] : [name],
		),
		...operations.flatMap(({ operation: { operationId, parameters, requestBody, responses } }) => [
			...parameters.flatMap(({ name, description }) =>
				description ? [] : [`${operationId}: ${name}`],
			),
			...undescribed({ requestBody, responses }, operationId),
		]),
	];
	expect(missing).toEqual([]);
});

/** The descriptions of alternatives that differ from the description of their field. */
function misdescribed(value: unknown): string[] {
	if (typeof value !== "object" || value === null) return [];
	const { description, anyOf = [] }: { description?: string; anyOf?: { description?: string }[] } =
		value;
	const others = anyOf.flatMap((alternative) => alternative.description ?? []);
	return [
		...(description ? others.filter((other) => other !== description) : []),
		...Object.values(value).flatMap(misdescribed),
	];
}

test("an alternative of a field doesn't have the description of another field", () => {
	expect(misdescribed(document.components.schemas)).toEqual([]);
});

test("every operation has an id of its own, a summary, a description and a tag that is described", () => {
	const ids = operations.map(({ operation }) => operation.operationId);
	expect(new Set(ids).size).toBe(operations.length);
	const tags = new Map(document.tags.map(({ name, description }) => [name, description]));
	for (const { operation, method, path } of operations) {
		const what = `${method} ${path}`;
		expect(operation.operationId, what).toMatch(/^[a-z]+([A-Z][a-z]+)+$/);
		expect(operation.summary, what).toMatch(/^[A-Z][^\n]{5,70}[^.\n]$/);
		expect(operation.description, what).toMatch(/^[A-Z`][\s\S]+\.$/);
		for (const tag of operation.tags) expect(tags.get(tag), what).toMatch(/\.$/);
	}
});

test("a page of objects that have a name is a component", () => {
	const item = operations.find(({ operation }) => operation.operationId === "listMembers");
	const answer = item?.operation.responses[200]?.content?.["application/json"];
	expect(answer?.schema).toEqual({ $ref: "#/components/schemas/MemberPage" });
});
