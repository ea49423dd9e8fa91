import { describe, expect, test } from "vitest";
import { families, publicRoutes } from "../../src/app.ts";
import { operationOf } from "../../src/http/router.ts";
import { unusedFields } from "../../src/http/unused.ts";
import { loadRoutes } from "../../src/mount.ts";
import { operations, resolved, type Schema } from "../support/contract.ts";
import { address, routes } from "../support/routes.ts";
import { call, furnished, join, world } from "../support/world.ts";

const STRICT = { prefer: "handling=strict" };

/** The schemas of bodies by the ids of their operations, as the routes have them. */
const bodies = new Map(
	await Promise.all(
		[...families, ...publicRoutes].map(async (row) => {
			const chains = Map.groupBy(
				(await loadRoutes(row)).routes,
				({ method, path }) => `${method} ${path}`,
			);
			return [...chains.values()].map((chain) => {
				const { id, body } = operationOf(chain);
				return [id, body] as const;
			});
		}),
	).then((found) => found.flat()),
);

const documented = operations.flatMap(({ operation }) => {
	const json = operation.requestBody?.content["application/json"];
	return json ? [{ id: operation.operationId, schema: json.schema }] : [];
});

/** Returns a value with all fields of a schema. */
function complete(schema: Schema): unknown {
	const { properties, items, anyOf = [] } = resolved(schema);
	if (properties)
		return Object.fromEntries(
			Object.entries(properties).map(([name, field]) => [name, complete(field)]),
		);
	if (items) return [complete(items)];
	const [alternative] = anyOf.filter((part) => complete(part) !== null);
	return alternative ? complete(alternative) : null;
}

/** Returns the value with another field in each object that has fields of its own, one after another. */
function* misspelled(value: unknown, path: (string | number)[] = []): Generator<[unknown, string]> {
	if (Array.isArray(value)) {
		for (const [i, item] of value.entries())
			for (const [changed, at] of misspelled(item, [...path, i]))
				yield [value.map((other, j) => (j === i ? changed : other)), at];
	} else if (value instanceof Object && Object.keys(value).length > 0) {
		yield [{ ...value, nonsense: 1 }, [...path, "nonsense"].join("__")];
		// A config has an error of its own for unknown settings.
		for (const [name, inner] of Object.entries(value))
			if (name !== "config")
				for (const [changed, at] of misspelled(inner, [...path, name]))
					yield [{ ...value, [name]: changed }, at];
	}
}

const pathsOf = (id: string, value: unknown) => {
	const shape = bodies.get(id);
	if (!shape) throw new Error(`${id} has no body.`);
	return [...unusedFields(shape, value)].map(({ path }) => path.join("__"));
};

test("the document and the routes have the same bodies", () => {
	const having = [...bodies].flatMap(([id, body]) => (body && id ? [id] : []));
	expect(documented.map(({ id }) => id).sort()).toEqual(having.sort());
	expect(documented.length).toBeGreaterThan(70);
});

test.each(documented)("$id knows the fields in the document, and no others", ({ id, schema }) => {
	const body = complete(schema);
	const readOnly = Object.entries(resolved(schema).properties ?? {}).flatMap(([name, field]) =>
		field.readOnly ? [name] : [],
	);
	expect(pathsOf(id, body)).toEqual(readOnly);
	for (const [changed, at] of misspelled(body))
		if (!readOnly.includes(at.split("__")[0] ?? "")) expect(pathsOf(id, changed)).toContain(at);
});

test("every operation below /api rejects an unknown parameter of a strict request", async () => {
	const home = await furnished();
	const wrong: unknown[] = [];
	for (const { method, path, body } of routes.filter(({ path }) => path.startsWith("/api/"))) {
		const sent = { ...(body && { body: body(home) }), headers: STRICT };
		const at = `${address(path, home)}?limitt=1`;
		const { status, body: error, headers } = await call(method, at, { key: home.key, ...sent });
		const isRejected = status === 400 && error.code === "unknown_field" && error.attr === "limitt";
		const applied = headers.get("preference-applied");
		// The holder of a link has to be known before the query is checked.
		const isUnknown = path.includes(":token") && status === 404;
		if (!(isRejected || isUnknown) || applied !== "handling=strict")
			wrong.push([method, path, status, error, applied]);
	}
	expect(wrong).toEqual([]);
});

describe("a strict request", () => {
	test.each([
		[{ nmae: "x" }, "nmae", "Unknown field: nmae (did you mean name?)."],
		[{ name: "x", colour: 1 }, "colour", "Unknown field: colour."],
		[{ naem: 1, x: 1 }, "naem", "Unknown fields: naem (did you mean name?), x."],
		[{ name: "x", slug: "mine" }, "slug", "Not applied here: slug."],
		[{ slug: 1, x: 1 }, "slug", "Unknown field: x. Not applied here: slug."],
		[
			Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`x${i}`, 1])),
			"x0",
			"Unknown fields: x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, 2 more.",
		],
		[{ ["x".repeat(101)]: 1 }, `${"x".repeat(100)}…`, `Unknown field: ${"x".repeat(100)}….`],
	])("%j is a 400", async (body, attr, detail) => {
		const { here } = await world();
		expect(await here("PATCH", "", { body, headers: STRICT })).toMatchObject({
			status: 400,
			body: { type: "validation_error", code: "unknown_field", attr, detail },
		});
	});

	test("names the place in lists and objects, and the line", async () => {
		const { here, ask, project } = await world();
		const invites = [{ target_email: "a@tenantry.test" }, { targt_email: "b@tenantry.test" }];
		expect(
			(await here("POST", "/invites/bulk", { body: invites, headers: STRICT })).body,
		).toMatchObject({
			attr: "1__targt_email",
			detail: "Unknown field: 1__targt_email (did you mean target_email?).",
		});
		const event = '{"event": "a", "distinct_id": "b", "properties": {"free": 1}}';
		const lines = `${event}\n\n{"evnt": "a"}`;
		const headers = { ...STRICT, "content-type": "application/x-ndjson" };
		const path = `/api/projects/${project}/events`;
		expect((await ask("POST", path, { raw: lines, headers })).body).toMatchObject({
			attr: "1__evnt",
			detail: "Line 3: Unknown field: 1__evnt (did you mean event?).",
		});
		expect((await ask("POST", path, { raw: event, headers })).status).toBe(200);
	});

	test("rejects what an operation validates and doesn't apply, and changes nothing", async () => {
		const home = await furnished();
		const at = `/batch_exports/${home.batch_export}`;
		const body = { name: "Elsewhere" };
		for (const action of ["pause", "unpause", "backfill"]) {
			expect(await home.here("POST", `${at}/${action}`, { body, headers: STRICT })).toMatchObject({
				status: 400,
				body: { code: "unknown_field", detail: "Not applied here: name." },
			});
		}
		expect((await home.here("GET", at)).body.paused).toBe(false);
		expect((await home.here("POST", `${at}/pause`, { body })).body.paused).toBe(true);
		expect((await home.here("POST", `${at}/unpause`, { headers: STRICT })).status).toBe(200);
	});

	test("may not have a body where the operation takes none", async () => {
		const { here, id } = await world();
		const body = { force: true };
		const domain = await here("POST", "/domains", { body: { domain: `${id}.example.com` } });
		const at = `/domains/${domain.body.id}`;
		for (const [method, path] of [
			["POST", `${at}/verify`],
			["DELETE", at],
		] as const)
			expect((await here(method, path, { body, headers: STRICT })).body).toMatchObject({
				attr: "force",
				code: "unknown_field",
			});
		expect((await here("DELETE", `${at}?dry_run=true`, { headers: STRICT })).body.attr).toBe(
			"dry_run",
		);
		expect((await here("DELETE", at, { body })).status).toBe(204);
	});

	test("follows the links of its pages, and may indent them", async () => {
		const { here, id, ask } = await world();
		await join(id, 1);
		const first = await here("GET", "/members?limit=1&order=joined_at", { headers: STRICT });
		const { pathname, search } = new URL(first.body.next);
		expect(search).toContain("cursor=");
		const second = await ask("GET", `${pathname}${search}&pretty`, { headers: STRICT });
		expect(second.status).toBe(200);
		const feed = await here("GET", "/events?limit=1", { headers: STRICT });
		const next = new URL(feed.body.next ?? "http://none");
		expect((await ask("GET", next.pathname + next.search, { headers: STRICT })).status).toBe(200);
	});

	test("learns first that it has no access, or that there is no such object", async () => {
		const { id, here } = await world();
		const member = await join(id, 1);
		const stranger = await world();
		const sent = { body: { nmae: "x" }, headers: STRICT };
		const path = `/api/organizations/${id}?x=1`;
		expect((await call("PATCH", path, { key: stranger.key, ...sent })).status).toBe(404);
		expect((await call("DELETE", path, { key: stranger.key, headers: STRICT })).status).toBe(404);
		expect((await call("PATCH", path, { key: member.key, ...sent })).status).toBe(403);
		expect((await call("DELETE", path, { key: member.key, headers: STRICT })).status).toBe(403);
		expect((await call("GET", path, { headers: STRICT })).status).toBe(401);
		const nobody = "/batch_exports/01a1fee0-f263-7006-bf2a-924fa6cc9800";
		expect((await here("PATCH", nobody, sent)).status).toBe(404);
		expect((await here("GET", `${nobody}/runs?statsu=x`, { headers: STRICT })).status).toBe(404);
	});

	test("is one whose Prefer says so, among other preferences", async () => {
		const { here } = await world();
		for (const [prefer, applied] of [
			["handling=strict", "handling=strict"],
			['respond-async, Handling="STRICT"; foo=bar, wait=10', "handling=strict"],
			["return=minimal,handling = strict", "handling=strict"],
			["handling=lenient, handling=strict", null],
			["handling", null],
			["handling=strictly", null],
			["strict", null],
			[`${"handling,".repeat(500)}=`, null],
		] as const) {
			const headers = { prefer };
			const { status, headers: sent } = await here("GET", "/members?x=1", { headers });
			expect([prefer, status, sent.get("preference-applied")]).toEqual([
				prefer,
				applied ? 400 : 200,
				applied,
			]);
		}
	});

	test("that is sent again gets the stored response, with the preference of its own", async () => {
		const { ask } = await world();
		const headers = { ...STRICT, "idempotency-key": crypto.randomUUID() };
		const once = { body: { name: "Once" }, headers };
		const first = await ask("POST", "/api/organizations", once);
		const again = await ask("POST", "/api/organizations", once);
		expect([again.status, again.body]).toEqual([201, first.body]);
		expect(again.headers.get("preference-applied")).toBe("handling=strict");
		const { headers: lenient } = await ask("POST", "/api/organizations", {
			...once,
			headers: { "idempotency-key": headers["idempotency-key"] },
		});
		expect(lenient.get("idempotency-replayed")).toBe("true");
		expect(lenient.get("preference-applied")).toBe(null);
	});
});
