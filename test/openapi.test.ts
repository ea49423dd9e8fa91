import { expect, test } from "vitest";
import * as z from "zod";
import { responseOf } from "../build/openapi/schemas.ts";
import { families } from "../src/app.ts";
import { descriptionOf, documentedAs } from "../src/http/router.ts";
import { loadRoutes } from "../src/mount.ts";
import { testDocument } from "./openapi.ts";
import { operations, resolved, type Schema } from "./support/contract.ts";
import { routesOf, sample } from "./support/routes.ts";

const examples = [
	...sample,
	...routesOf(
		"GET /api/organizations/:organization_id/batch_exports/:id/runs/:run_id",
		"POST /api/organizations/:organization_id/batch_exports/:id/backfill",
		"GET /api/projects/:project_id/plugin_configs/:id",
		"PATCH /api/personal_api_keys/:id",
	),
];

const paths = examples.map(({ path }) => path.replace(/:(\w+)/g, "{$1}"));

// All operations of a path, for the methods that it accepts.
testDocument(operations.filter(({ path }) => paths.includes(path)));

/** The fields of a schema that have an enum, as paths of field names. */
function choices(schema: Schema, path: string[] = []): [string[], unknown[]][] {
	const { properties = {}, items, anyOf = [], enum: values } = resolved(schema);
	return [
		...(values ? [[path, values] as [string[], unknown[]]] : []),
		...anyOf.flatMap((item) => choices(item, path)),
		...(items ? choices(items, [...path, "0"]) : []),
		...Object.entries(properties).flatMap(([name, field]) => choices(field, [...path, name])),
	];
}

/** The same for a zod shape. */
function choicesOf(shape: z.core.$ZodType, path: string[] = []): [string[], unknown[]][] {
	const as = documentedAs(shape);
	if (as) return choicesOf(as, path);
	if (shape instanceof z.ZodEnum) return [[path, shape.options]];
	if (shape instanceof z.ZodLiteral && shape.values.size > 1) return [[path, [...shape.values]]];
	if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable)
		return choicesOf(shape.unwrap(), path);
	if (shape instanceof z.ZodPipe) return choicesOf(shape.out, path);
	if (shape instanceof z.ZodArray) return choicesOf(shape.element, [...path, "0"]);
	if (shape instanceof z.ZodUnion) return shape.options.flatMap((item) => choicesOf(item, path));
	if (shape instanceof z.ZodObject)
		return Object.entries(shape.shape).flatMap(([name, field]) =>
			choicesOf(field, [...path, name]),
		);
	return [];
}

const byPath = (list: [string[], unknown[]][]) =>
	list.map(([path, values]) => `${path.join(".")}: ${JSON.stringify(values)}`).sort();

test("every choice in the shapes of requests and responses is an enum in the document", async () => {
	let found = 0;
	for (const row of families)
		for (const { method, path, handler } of (await loadRoutes(row)).routes) {
			const operation = descriptionOf(handler);
			const at = `${row.path}${path}`.replace(/:(\w+)/g, "{$1}").replace(/\/$/, "");
			const item = operations.find((item) => item.method === method && item.path === at);
			const success = Object.entries(item?.operation.responses ?? {})
				.filter(([status]) => status.startsWith("2"))
				.flatMap(([, said]) => said.content?.["application/json"]?.schema ?? []);
			for (const [shape, [schema]] of [
				[operation.body, [item?.operation.requestBody?.content["application/json"]?.schema]],
				[responseOf(operation), success],
			] as const) {
				if (!shape) continue;
				const wanted = byPath(choicesOf(shape));
				expect(schema && byPath(choices(schema)), `${method} ${at}`).toEqual(wanted);
				found += wanted.length;
			}
		}
	expect(found).toBeGreaterThan(100);
});
