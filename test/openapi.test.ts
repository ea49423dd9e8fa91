import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { families } from "../src/app.ts";
import { descriptionOf, documentedAs } from "../src/http/router.ts";
import { operations, resolved, type Schema } from "./support/contract.ts";
import { subject } from "./support/routes.ts";
import { call, furnished, keyFor } from "./support/world.ts";

const title = (one: (typeof operations)[number]) => [`${one.method} ${one.path}`, one] as const;

const jsonOf = ({ operation }: (typeof operations)[number]) =>
	operation.requestBody?.content["application/json"]?.schema;

const guarded = operations.filter(({ scopes }) => scopes !== "");

let home: Awaited<ReturnType<typeof furnished>>;
beforeAll(async () => {
	home = await furnished();
});

/** The address of an operation; `ids` replaces what would stand in its path. */
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
			id: subject(path, home),
			token: "x".repeat(43),
		};
		return encodeURIComponent(ids[name] ?? String(known[name]));
	});

describe("the document calls a body required where the service does", () => {
	test.each(guarded.filter((one) => one.operation.requestBody).map(title))("%s", async (_, one) => {
		// A run can be retried once.
		if (one.path.endsWith("/retry")) home = await furnished();
		const key = await keyFor(home.owner.id);
		const { status, body } = await call(one.method, address(one.path), {
			key,
		});
		const missing = status === 400 && body.attr !== null;
		expect(missing || body?.code === "invalid_input").toBe(one.operation.requestBody?.required);
	});
});

/** Every place in a schema where one of a list of values stands, as a path of field names. */
function choices(schema: Schema, path: string[] = []): [string[], unknown[]][] {
	const { properties = {}, items, anyOf = [], enum: values } = resolved(schema);
	return [
		...(values ? [[path, values] as [string[], unknown[]]] : []),
		...anyOf.flatMap((one) => choices(one, path)),
		...(items ? choices(items, [...path, "0"]) : []),
		...Object.entries(properties).flatMap(([name, field]) => choices(field, [...path, name])),
	];
}

/** The same of a zod shape. */
function choicesOf(shape: z.core.$ZodType, path: string[] = []): [string[], unknown[]][] {
	const as = documentedAs(shape);
	if (as) return choicesOf(as, path);
	if (shape instanceof z.ZodEnum) return [[path, shape.options]];
	if (shape instanceof z.ZodLiteral && shape.values.size > 1) return [[path, [...shape.values]]];
	if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable)
		return choicesOf(shape.unwrap(), path);
	if (shape instanceof z.ZodPipe) return choicesOf(shape.out, path);
	if (shape instanceof z.ZodArray) return choicesOf(shape.element, [...path, "0"]);
	if (shape instanceof z.ZodUnion) return shape.options.flatMap((one) => choicesOf(one, path));
	if (shape instanceof z.ZodObject)
		return Object.entries(shape.shape).flatMap(([name, field]) =>
			choicesOf(field, [...path, name]),
		);
	return [];
}

const byPath = (list: [string[], unknown[]][]) =>
	list.map(([path, values]) => `${path.join(".")}: ${JSON.stringify(values)}`).sort();

test("every choice in the shapes of requests and answers is one in the document", () => {
	let found = 0;
	for (const [mount, , , { routes }] of families)
		for (const { method, path, handler } of routes) {
			const { body, answer } = descriptionOf(handler);
			const at = `${mount}${path}`.replace(/:(\w+)/g, "{$1}").replace(/\/$/, "");
			const one = operations.find((one) => one.method === method && one.path === at);
			const success = Object.entries(one?.operation.responses ?? {})
				.filter(([status]) => status.startsWith("2"))
				.flatMap(([, said]) => said.content?.["application/json"]?.schema ?? []);
			for (const [shape, [schema]] of [
				[body, one ? [jsonOf(one)] : []],
				[answer, success],
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
	const one = operations.find(({ path }) => path === "/api/organizations/{id}");
	const answer = one?.operation.responses[200]?.content?.["application/json"];
	expect(resolved(answer?.schema ?? {}).properties?.[field]?.enum).toEqual(values);
});

/** Every object in a schema that takes no fields but those it names. */
const closed = (schema: Schema): Schema[] => {
	const one = resolved(schema);
	const inner = [
		...Object.values(one.properties ?? {}),
		...(one.items ? [one.items] : []),
		...(one.anyOf ?? []),
	];
	return [...(one.additionalProperties === false ? [one] : []), ...inner.flatMap(closed)];
};

test("bodies may hold fields that nobody reads, but for the configs of destinations", () => {
	const strict = operations.flatMap((one) => {
		const schema = jsonOf(one);
		return schema && closed(schema).length > 0 ? [one.path] : [];
	});
	expect(strict.length).toBeGreaterThan(5);
	for (const path of strict) expect(path).toContain("/batch_exports");
});

const empty = (method: string) => (method === "GET" ? {} : { body: {} });

const IMPOSSIBLE = ["x", "0", "%00", "-1", "1e3", "../x", "9".repeat(40)];

describe("what can't be an id is not found", () => {
	test.each(guarded.filter(({ path }) => path.includes("{")).map(title))("%s", async (_, one) => {
		const key = await keyFor(home.owner.id);
		const names = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
		for (const name of names)
			for (const id of IMPOSSIBLE) {
				const at = address(one.path, { [name ?? ""]: id });
				expect(await call(one.method, at, { key, ...empty(one.method) })).toMatchObject({
					status: 404,
				});
			}
	});
});

describe("a path has the methods that the document says, and names them in Allow", () => {
	const paths = Map.groupBy(operations, ({ path }) => path);
	test.each([...paths])("%s", async (path, there) => {
		const open = there.every(({ scopes }) => scopes === "");
		const key = open ? undefined : await keyFor(home.owner.id);
		const methods = there.map(({ method }) => method);
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
