import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { type operations, resolved, type Schema } from "./support/contract.ts";
import { address, subject } from "./support/routes.ts";
import { eventually } from "./support/time.ts";
import { call, furnished, keyFor } from "./support/world.ts";

/** Text that often causes errors. */
const nasty = fc.constantFrom(
	"",
	" ",
	"@current",
	"@me",
	"\0",
	"%00",
	"%",
	"..",
	"'",
	'"',
	"`",
	"\\",
	"\ud800",
	"🦔",
	"0",
	"-1",
	"1e400",
	"NaN",
	"null",
	"true",
	"__proto__",
	"constructor",
	"00000000-0000-0000-0000-000000000000",
	"ffffffff-ffff-ffff-ffff-ffffffffffff",
	"9".repeat(40),
	"x".repeat(3000),
	"2026-02-30",
	"+275760-09-13T00:00:00Z",
	"9999-12-31T23:59:59-14:00",
	"$where",
	"; drop table users --",
);

const text = fc.oneof(
	nasty,
	fc.string({ unit: "binary" }),
	fc.uuid(),
	fc.nat().map(String),
	fc.date({ noInvalidDate: true }).map((at) => at.toISOString()),
);

const value = fc.oneof(
	{ weight: 3, arbitrary: text },
	fc.integer(),
	fc.double(),
	fc.boolean(),
	fc.constant(null),
	fc.array(text, { maxLength: 3 }),
	fc.jsonValue(),
);

/** Bodies with the right names and any values, and bodies of any shape. */
const bodies = (given: Schema | undefined) => {
	const schema = given?.anyOf?.[0] ?? given;
	const names = Object.keys(resolved(schema?.items ?? schema ?? {}).properties ?? {});
	const named = fc.record(Object.fromEntries(names.map((name) => [name, value])), {
		requiredKeys: [],
	});
	return fc.oneof(
		{
			weight: 4,
			arbitrary: (schema?.items ? fc.array(named, { maxLength: 3 }) : named).map((body: object) =>
				JSON.stringify(body),
			),
		},
		fc.jsonValue().map((body) => JSON.stringify(body)),
		text,
	);
};

const headers = fc.record(
	{
		"content-type": fc.constantFrom(
			"application/json",
			"application/json; charset=latin1",
			"application/x-ndjson",
			"text/plain",
			"multipart/form-data",
			"x",
			"",
		),
		"x-request-id": text,
		"x-d1-bookmark": text,
		"idempotency-key": text,
		"if-match": fc.oneof(text, fc.constant("*")),
		"if-none-match": text,
		accept: text,
		"accept-encoding": text,
		origin: text,
	},
	{ requiredKeys: [] },
);

/** Without headers that no client can send. */
const sendable = (given: object) =>
	Object.entries(given).filter(([, value]) => /^[\x20-\x7e]*$/.test(value));

/**
 * Tests that no response to random requests is a 5xx, that each matches the OpenAPI document, and
 * that none has a secret.
 */
export const testRandomInput = (tested: typeof operations, numRuns: number) =>
	describe("no response is a 5xx, and every response matches the OpenAPI document", () => {
		let home: Awaited<ReturnType<typeof furnished>>;
		const SECRET = "secret-that-nobody-may-see";
		/** A config with a secret, and a job that logs it. */
		const plugin = {
			config_schema: [{ key: "token", type: "string", secret: true }],
			"index.js":
				"exports.jobs = { async go(_, { config, storage }) { await storage.set('token', config.token); console.log(config.token); throw new Error(config.token) } }",
		};

		beforeAll(async () => {
			home = await furnished();
			const { ask, here, frontend, config } = home;
			const path = `/pipeline_frontend_apps/${frontend}`;
			const { "index.js": index, ...fields } = plugin;
			await here("PATCH", path, { body: fields });
			await here("PATCH", `${path}/update_source`, {
				body: { "index.js": index },
			});
			const at = `/api/projects/${home.project}/plugin_configs/${config}`;
			const set = { config: { token: SECRET } };
			expect((await ask("PATCH", at, { body: set })).status).toBe(200);
			const job = { job: { type: "go" } };
			expect((await ask("POST", `${at}/job`, { body: job })).status).toBe(200);
			await eventually(async () => expect((await ask("GET", at)).body.error).toContain("***"));
		});

		test.each(tested)("$method $path", async ({ method, path, operation }) => {
			const key = await keyFor(home.owner.id);
			const colons = path.replace(/\{(\w+)\}/g, ":$1");
			const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
			const right = names.map((name) =>
				name === "id" ? subject(colons, home) : address(`:${name}`, home),
			);
			const parameters = fc.tuple(
				...right.map((id, i) =>
					// A successful DELETE would remove the object that the other requests need.
					method === "DELETE" && i === right.length - 1
						? text.filter((other) => other !== id)
						: fc.oneof({ weight: 3, arbitrary: fc.constant(id) }, text),
				),
			);
			const wanted = operation.parameters
				.filter(({ in: place }) => place === "query")
				.map(({ name }) => name);
			const queries = fc.record(
				Object.fromEntries([...wanted, "other"].map((name) => [name, text])),
				{ requiredKeys: [] },
			);
			const keys = fc.oneof({ weight: 4, arbitrary: fc.constant(`Bearer ${key}`) }, text);
			await fc.assert(
				fc.asyncProperty(
					parameters,
					queries,
					headers,
					keys,
					bodies(operation.requestBody?.content["application/json"]?.schema),
					async (ids, query, given, authorization, raw) => {
						const filled = names.reduce(
							(at, name, i) =>
								at.replace(`{${name}}`, encodeURIComponent((ids[i] ?? "").toWellFormed()) || "x"),
							path,
						);
						const search = new URLSearchParams(
							Object.entries(query).map(([name, value]) => [name, value ?? ""]),
						);
						const { status, body } = await call(method, `${filled}?${search}`, {
							headers: Object.fromEntries(
								sendable({
									"content-type": "application/json",
									"cf-connecting-ip": crypto.randomUUID(),
									...given,
									authorization,
								}),
							),
							...(method !== "GET" && { raw }),
						});
						expect(status).toBeLessThan(500);
						expect(JSON.stringify(body)).not.toContain(SECRET);
						if (status >= 400 && typeof body === "object")
							expect(Object.keys(body).filter((name) => name !== "choices")).toEqual([
								"type",
								"code",
								"detail",
								"attr",
							]);
					},
				),
				{ numRuns },
			);
		});

		test("afterwards, no secret is in the database, and none was in a response", async () => {
			const { results: tables } = await env.DB.prepare(
				"select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like '\\_cf%' escape '\\'",
			).all<{ name: string }>();
			for (const { name } of tables) {
				const { results } = await env.DB.prepare(`select * from "${name}"`).all();
				expect(JSON.stringify(results)).not.toContain(SECRET);
			}
			expect(tables.length).toBeGreaterThan(15);
		});
	});
