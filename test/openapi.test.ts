import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import document from "../public/openapi.json" with { type: "json" };
import { families } from "../src/app.ts";
import { loadRoutes } from "../src/mount.ts";
import "../src/activity/audit_streams/openapi.ts";
import "../src/exports/batch_exports/openapi.ts";
import { descriptionOf, documentedAs } from "../src/http/router.ts";
import { operations, resolved, type Schema } from "./support/contract.ts";
import { subject } from "./support/routes.ts";
import { call, furnished, keyFor } from "./support/world.ts";

const title = (item: (typeof operations)[number]) => [`${item.method} ${item.path}`, item] as const;

const jsonOf = ({ operation }: (typeof operations)[number]) =>
	operation.requestBody?.content["application/json"]?.schema;

const guarded = operations.filter(({ scopes }) => scopes !== "");

let home: Awaited<ReturnType<typeof furnished>>;
beforeAll(async () => {
	home = await furnished();
});

/** The path of an operation. `ids` replaces the values of its parameters. */
const address = (path: string, ids: Record<string, string> = {}) =>
	path.replace(/\{(\w+)\}/g, (_, name: string) => {
		const known: Record<string, string | number> = {
			organization_id: home.id,
			project_id: home.project,
			user_uuid: home.member,
			user__uuid: home.member,
			uuid: "@me",
			plugin_config_id: home.config,
			run_id: path.endsWith("/retry") ? home.ended_run : home.run,
			backfill_id: home.backfill,
			delivery_id: home.delivery,
			service_account_id: home.account,
			id: subject(path, home),
			token: "x".repeat(43),
		};
		return encodeURIComponent(ids[name] ?? String(known[name]));
	});

describe("the document marks a body as required if the service requires it", () => {
	test.each(guarded.filter((item) => item.operation.requestBody).map(title))(
		"%s",
		async (_, item) => {
			// A run can be retried once.
			if (item.path.endsWith("/retry")) home = await furnished();
			const key = await keyFor(home.owner.id);
			const { status, body } = await call(item.method, address(item.path), {
				key,
			});
			// The owner has a passkey, which others who have no second factor needn't prove.
			const isMissing = body?.attr !== null && body?.code !== "two_factor_required";
			const missing = status === 400 && isMissing;
			expect(missing || body?.code === "invalid_input").toBe(item.operation.requestBody?.required);
		},
	);
});

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
			const { body, response } = descriptionOf(handler);
			const at = `${row.path}${path}`.replace(/:(\w+)/g, "{$1}").replace(/\/$/, "");
			const item = operations.find((item) => item.method === method && item.path === at);
			const success = Object.entries(item?.operation.responses ?? {})
				.filter(([status]) => status.startsWith("2"))
				.flatMap(([, said]) => said.content?.["application/json"]?.schema ?? []);
			for (const [shape, [schema]] of [
				[body, item ? [jsonOf(item)] : []],
				[response, success],
			] as const) {
				if (!shape) continue;
				const wanted = byPath(choicesOf(shape));
				expect(schema && byPath(choices(schema)), `${method} ${at}`).toEqual(wanted);
				found += wanted.length;
			}
		}
	expect(found).toBeGreaterThan(100);
});

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
		const schema = jsonOf(item);
		return schema && closed(schema).length > 0 ? [item.path] : [];
	});
	expect(strict.length).toBeGreaterThan(5);
	for (const path of strict) expect(path).toMatch(/\/(batch_exports|audit_streams)/);
});

const empty = (method: string) => (method === "GET" ? {} : { body: {} });

const IMPOSSIBLE = ["x", "%00", "9".repeat(40)];

/** Only for GETs: the other operations find their object in the same way. */
const ALSO_IMPOSSIBLE = ["0", "'", "-1", "1e3", "../x"];

describe("a malformed id is a 404", () => {
	test.each(guarded.filter(({ path }) => path.includes("{")).map(title))("%s", async (_, item) => {
		const key = await keyFor(home.owner.id);
		const names = [...item.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
		for (const name of names)
			for (const id of [...IMPOSSIBLE, ...(item.method === "GET" ? ALSO_IMPOSSIBLE : [])]) {
				const at = address(item.path, { [name ?? ""]: id });
				expect(await call(item.method, at, { key, ...empty(item.method) })).toMatchObject({
					status: 404,
				});
			}
	});
});

describe("a path accepts the methods in the document, and lists them in Allow", () => {
	const paths = Map.groupBy(operations, ({ path }) => path);
	test.each([...paths])("%s", async (path, documented) => {
		const open = documented.every(({ scopes }) => scopes === "");
		const key = open ? undefined : await keyFor(home.owner.id);
		const methods = documented.map(({ method }) => method);
		const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
		for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
			if (methods.includes(method)) continue;
			const { status, headers } = await call(method, address(path), {
				key,
				...empty(method),
			});
			expect(status).toBe(405);
			expect(headers.get("allow")?.split(", ").sort()).toEqual([...allowed].sort());
		}
	});
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
