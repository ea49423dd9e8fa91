import { describe, expect, test, vi } from "vitest";
import { wrong } from "../support/refusals.ts";
import { call, join, world } from "../support/world.ts";

const create = async (body: unknown) =>
	(await world()).ask("POST", "/api/organizations/", { body });

describe("a field that is wrong is named, with what is wrong about it", () => {
	test.each([
		[{}, "required", "This field is required.", "name"],
		[{ name: null }, "null", "This field may not be null.", "name"],
		[{ name: " \t " }, "blank", "This field may not be blank.", "name"],
		[{ name: 7 }, "invalid_input", "Not a valid string.", "name"],
		[{ name: ["x"] }, "invalid_input", "Not a valid string.", "name"],
		[
			{ name: "x".repeat(65) },
			"max_length",
			"Ensure this field has no more than 64 characters.",
			"name",
		],
		[{ name: "a\0b" }, "invalid_input", "Null characters are not allowed.", "name"],
		[{ name: "x", logo_media_id: "y" }, "invalid_input", "Must be a valid UUID.", "logo_media_id"],
		[
			{ name: "x", enforce_2fa: "maybe" },
			"invalid_input",
			"Must be a valid boolean.",
			"enforce_2fa",
		],
		[
			{ name: "x", is_member_join_email_enabled: null },
			"null",
			"This field may not be null.",
			"is_member_join_email_enabled",
		],
		[{ enforce_2fa: "maybe" }, "required", "This field is required.", "name"],
		[[], "invalid_input", "Invalid data. Expected a dictionary.", null],
		["text", "invalid_input", "Invalid data. Expected a dictionary.", null],
		[null, "invalid_input", "Invalid data. Expected a dictionary.", null],
	])("%j: %s", async (body, code, detail, attr) => {
		expect(await create(body)).toMatchObject(wrong(code, detail, attr));
	});

	test.each([
		[
			{ label: "x", scopes: "organization:read" },
			"not_a_list",
			'Expected a list of items but got type "str".',
			"scopes",
		],
		[
			{ label: "x", scopes: { a: 1 } },
			"not_a_list",
			'Expected a list of items but got type "dict".',
			"scopes",
		],
		[{ label: "x", scopes: [] }, "empty", "This list may not be empty.", "scopes"],
		[
			{ label: "x", scopes: ["x".repeat(1000)] },
			"invalid_choice",
			`"${"x".repeat(100)}…" is not a valid choice.`,
			"scopes__0",
		],
		[
			{ label: "x", scopes: ["nothing:read"] },
			"invalid_choice",
			'"nothing:read" is not a valid choice.',
			"scopes__0",
		],
		[
			{ label: "x", scopes: ["*"], scoped_projects: ["1e3"] },
			"invalid_input",
			"A valid integer is required.",
			"scoped_projects__0",
		],
		[
			{ label: "x", scopes: ["*"], scoped_projects: [1.5] },
			"invalid_input",
			"A valid integer is required.",
			"scoped_projects__0",
		],
		[
			{ label: "x", scopes: ["*"], scoped_projects: [2 ** 31] },
			"max_value",
			"Ensure this value is less than or equal to 2147483647.",
			"scoped_projects__0",
		],
		[
			{ label: "x", scopes: ["*"], scoped_projects: [-1e300] },
			"min_value",
			"Ensure this value is greater than or equal to -2147483648.",
			"scoped_projects__0",
		],
		[
			{ label: "x", scopes: ["*"], expires_at: "2026-02-30" },
			"invalid_input",
			"Datetime has wrong format. Use ISO 8601.",
			"expires_at",
		],
	])("%j: %s", async (body, code, detail, attr) => {
		const { ask } = await world();
		expect(await ask("POST", "/api/personal_api_keys/", { body })).toMatchObject(
			wrong(code, detail, attr),
		);
	});

	test("a level that is none: an integer is not a choice, a word is not an integer", async () => {
		const { ask, project, owner } = await world();
		const add = (level: unknown) =>
			ask("POST", `/api/projects/${project}/members`, {
				body: { user_uuid: owner.uuid, level },
			});
		expect(await add(15)).toMatchObject(
			wrong("invalid_choice", '"15" is not a valid choice.', "level"),
		);
		expect(await add("admin")).toMatchObject(
			wrong("invalid_input", "A valid integer is required.", "level"),
		);
	});
});

test("characters are counted as people count them: 64 of any plane fit", async () => {
	expect((await create({ name: "🦔".repeat(64) })).status).toBe(201);
	expect((await create({ name: "🦔".repeat(65) })).body.code).toBe("max_length");
});

test("strings are trimmed", async () => {
	expect((await create({ name: "  Acme\n" })).body.name).toBe("Acme");
});

test("so are UUIDs, which are kept in lower case, and choices", async () => {
	const id = "01234567-89AB-CDEF-0123-456789ABCDEF";
	const { body } = await create({ name: "x", logo_media_id: ` ${id} ` });
	expect(body.logo_media_id).toBe(id.toLowerCase());
	const { ask } = await world();
	const key = { label: "x", scopes: [" user:read "] };
	const made = await ask("POST", "/api/personal_api_keys", { body: key });
	expect(made.body.scopes).toEqual(["user:read"]);
});

test("a list of things that are each once holds each once, and has an end", async () => {
	const { ask, project } = await world();
	const make = (more: object) =>
		ask("POST", "/api/personal_api_keys", {
			body: { label: "x", scopes: ["*", "*"], ...more },
		});
	const scoped_projects = [project, project];
	expect((await make({ scoped_projects })).body).toMatchObject({
		scopes: ["*"],
		scoped_projects: [project],
	});
	expect((await make({ scopes: Array(101).fill("*") })).body).toMatchObject({
		code: "max_length",
		detail: "Ensure this field has no more than 100 elements.",
		attr: "scopes",
	});
});

test.each([
	["TRUE", true],
	["1", true],
	["Yes", true],
	[" on ", true],
	["false", false],
	["0", false],
	["NO", false],
	["off", false],
	[true, true],
])("%j means %j", async (word, meaning) => {
	expect((await create({ name: "x", enforce_2fa: word })).body.enforce_2fa).toBe(meaning);
});

test("unknown and read-only fields are ignored", async () => {
	const { status, body } = await create({
		name: "x",
		slug: "mine",
		id: 7,
		membership_level: 1,
		nonsense: {},
	});
	expect({ status, level: body.membership_level }).toEqual({
		status: 201,
		level: 15,
	});
});

test("a naive moment is UTC, and any offset is understood", async () => {
	const { ask } = await world();
	const made = async (expires_at: string) =>
		(
			await ask("POST", "/api/personal_api_keys/", {
				body: { label: "x", scopes: ["*"], expires_at },
			})
		).body.expires_at;
	expect(await made("2027-01-02T03:04:05")).toBe("2027-01-02T03:04:05.000Z");
	expect(await made("2027-01-02T03:04:05.123456+02:00")).toBe("2027-01-02T01:04:05.123Z");
	expect(await made("2027-01-02")).toBe("2027-01-02T00:00:00.000Z");
});

/** A pattern that takes time by the square of the length would need half an hour for this one. */
test("a long text that is no moment is refused before the test is given up", async () => {
	const { here } = await world();
	const answer = await here("POST", "/batch_exports", {
		body: {
			name: "x",
			destination: { type: "NoOp" },
			interval: "hour",
			start_at: `${"T".repeat(1_000_000)}Z`,
		},
	});
	expect(answer).toMatchObject(
		wrong("invalid_input", "Datetime has wrong format. Use ISO 8601.", "start_at"),
	);
});

describe("a body that can’t be read", () => {
	test("is a parse error that does not quote it", async () => {
		const { ask } = await world();
		for (const raw of ['{"name": "secret-', '{name: "secret-"}', "secret-"]) {
			const { status, body } = await ask("POST", "/api/organizations", {
				raw,
				headers: { "content-type": "application/json" },
			});
			expect({ status, ...body }).toMatchObject({
				status: 400,
				type: "invalid_request",
				code: "parse_error",
				attr: null,
			});
			expect(body.detail).toMatch(/^JSON parse error - .+/);
			expect(body.detail).not.toContain("secret");
		}
	});

	test("is a 415 when it is not JSON, named with its type", async () => {
		const { ask } = await world();
		expect(
			await ask("POST", "/api/organizations", {
				raw: "name=x",
				headers: { "content-type": "text/plain; charset=utf-8" },
			}),
		).toMatchObject({
			status: 415,
			body: {
				type: "invalid_request",
				code: "unsupported_media_type",
				detail: 'Unsupported media type "text/plain" in request.',
				attr: null,
			},
		});
		expect(
			(
				await ask("POST", "/api/organizations", {
					body: { name: "x" },
					headers: { "content-type": "application/vnd.api+json" },
				})
			).status,
		).toBe(201);
	});

	const bytes = (...parts: (string | number[])[]) =>
		new Blob(
			parts.map((part) => (typeof part === "string" ? part : new Uint8Array(part))),
		).arrayBuffer();
	const BOM = [0xef, 0xbb, 0xbf];

	test.each([
		["Latin-1", ['{"name": "Jos', [0xe9], '"}']],
		["half of a character at the end", ['{"name": "x"}', [0xc3]]],
		["an encoded surrogate", ['{"name": "', [0xed, 0xa0, 0x80], '"}']],
		["UTF-16", [[0xff, 0xfe, 0x7b, 0, 0x7d, 0]]],
	])("is a parse error when it is not UTF-8: %s", async (_, parts) => {
		const { ask, here } = await world();
		const raw = await bytes(...parts);
		const headers = { "content-type": "application/json" };
		expect(await ask("POST", "/api/organizations", { raw, headers })).toMatchObject({
			status: 400,
			body: {
				type: "invalid_request",
				code: "parse_error",
				detail: "JSON parse error - The body is not UTF-8.",
				attr: null,
			},
		});
		const plain = { "content-type": "text/plain" };
		expect((await here("PATCH", "", { raw, headers: plain })).body.code).toBe(
			"unsupported_media_type",
		);
	});

	test("is a parse error when it holds control characters alone, and not an empty body", async () => {
		const { here } = await world();
		const headers = { "content-type": "application/json" };
		for (const byte of [0x00, 0x0b, 0x1f]) {
			const raw = await bytes([0x20, byte]);
			expect((await here("PATCH", "", { raw, headers })).body.code).toBe("parse_error");
		}
		const raw = await bytes([0x20, 0x09, 0x0a, 0x0d]);
		expect((await here("PATCH", "", { raw, headers })).status).toBe(200);
	});

	test("may begin with a byte order mark, as JSON and as lines", async () => {
		const { ask, project } = await world();
		const raw = await bytes(BOM, '{"name": "Zoë"}');
		const headers = { "content-type": "application/json; Charset=UTF-8" };
		expect((await ask("POST", "/api/organizations", { raw, headers })).body.name).toBe("Zoë");
		const lines = await bytes(BOM, '{"event": "a", "distinct_id": "b"}\n');
		expect(
			await ask("POST", `/api/projects/${project}/events`, {
				raw: lines,
				headers: { "content-type": "application/x-ndjson" },
			}),
		).toMatchObject({ status: 200, body: { accepted: 1 } });
	});

	test.each(["latin1", '"iso-8859-1"', "utf-16", ""])(
		"is a parse error when its type names another charset: %s",
		async (charset) => {
			const { ask } = await world();
			const asked = {
				body: { name: "x" },
				headers: { "content-type": `application/json; charset=${charset}` },
			};
			expect((await ask("POST", "/api/organizations", asked)).body).toMatchObject({
				code: "parse_error",
				detail: "JSON parse error - The charset of the body must be UTF-8.",
			});
		},
	);

	test("is read when its type names UTF-8 in another way", async () => {
		const { ask } = await world();
		for (const charset of ["utf8", '"UTF-8"', "utf-8; q=1"]) {
			const asked = {
				body: { name: "x" },
				headers: { "content-type": `application/json;charset=${charset}` },
			};
			expect((await ask("POST", "/api/organizations", asked)).status).toBe(201);
		}
	});

	test("is a 400 when its sender goes away before its end, and no error of ours", async () => {
		const { ask } = await world();
		const error = vi.spyOn(console, "error");
		const raw = new ReadableStream({
			pull(controller) {
				controller.enqueue(new TextEncoder().encode('{"name": '));
				controller.error(new Error("Network connection lost."));
			},
		});
		const headers = { "content-type": "application/json" };
		const answer = await ask("POST", "/api/organizations", {
			raw,
			headers,
			env: {},
		});
		expect(answer).toMatchObject({
			status: 400,
			body: {
				code: "parse_error",
				detail: "JSON parse error - The body ended too early.",
			},
		});
		expect(error).not.toHaveBeenCalled();
		error.mockRestore();
	});

	test("of lines names the line that is wrong", async () => {
		const { ask, project } = await world();
		const raw = '{"event": "a", "distinct_id": "b"}\n\n{"event": }';
		const headers = { "content-type": "application/x-ndjson" };
		const { body } = await ask("POST", `/api/projects/${project}/events`, {
			raw,
			headers,
		});
		expect(body.detail).toMatch(/^JSON parse error - line 3: /);
	});

	test("is a 413 when it is over 1 MiB, however it comes", async () => {
		const { ask } = await world();
		const raw = JSON.stringify({ name: "x".repeat(2 ** 20) });
		const headers = { "content-type": "application/json" };
		const answer = {
			status: 413,
			body: { type: "invalid_request", code: "request_too_large", attr: null },
		};
		expect(await ask("POST", "/api/organizations", { raw, headers })).toMatchObject(answer);
		const stream = new Blob([raw]).stream();
		expect(await ask("POST", "/api/organizations", { raw: stream, headers })).toMatchObject(answer);
	});

	test("counts as {} when there is none", async () => {
		const { ask, id } = await world();
		expect((await ask("POST", "/api/organizations")).body).toMatchObject({
			code: "required",
			attr: "name",
		});
		expect(
			(
				await ask("PATCH", `/api/organizations/${id}`, {
					headers: { "content-type": "application/json" },
				})
			).status,
		).toBe(200);
	});
});

describe("the order of checks: who may not act does not learn what was wrong", () => {
	const bad = [
		{ raw: "{", headers: { "content-type": "application/json" } },
		{ raw: "x", headers: { "content-type": "text/plain" } },
		{ body: { name: 7 } },
	];

	test("a stranger gets a 404, a member a 403, an admin the 415 or 400", async () => {
		const { id } = await world();
		const path = `/api/organizations/${id}`;
		const [stranger, member, admin] = [
			(await world()).key,
			(await join(id, 1)).key,
			(await join(id, 8)).key,
		];
		for (const asked of bad) {
			expect((await call("PATCH", path, { key: stranger, ...asked })).status).toBe(404);
			expect((await call("PATCH", path, { key: member, ...asked })).body.detail).toBe(
				"Your organization access level is insufficient.",
			);
			expect([400, 415]).toContain((await call("PATCH", path, { key: admin, ...asked })).status);
		}
	});

	test("an object in the path is looked for before the body is judged", async () => {
		const { ask } = await world();
		for (const asked of [...bad, { body: { label: 7 } }])
			expect(
				(await ask("PATCH", "/api/personal_api_keys/01a1fee0-f263-7006-bf2a-924fa6cc9800", asked))
					.status,
			).toBe(404);
		expect(
			(
				await ask("PATCH", "/api/personal_api_keys/@current", {
					body: { label: 7 },
				})
			).status,
		).toBe(400);
	});
});

test("an address is one that mail servers take", async () => {
	const { here } = await world();
	const invite = (target_email: string) => here("POST", "/invites", { body: { target_email } });
	const refused = wrong("invalid_input", "Enter a valid email address.", "target_email");
	expect(await invite(`${"x".repeat(65)}@example.com`)).toMatchObject(refused);
	expect(await invite("x@-example.com")).toMatchObject(refused);
	expect(await invite("x@example-.com")).toMatchObject(refused);
	expect(await invite("x..y@example.com")).toMatchObject(refused);
	expect((await invite(`${"x".repeat(64)}@example.com`)).status).toBe(201);
	expect((await invite("O'Brien+list@Mail-1.Example.com")).status).toBe(201);
});

test("a key that is wrong is refused with what is wrong about it", async () => {
	const { here } = await world();
	const path = "/pipeline_destinations";
	const made = await here("POST", path, { body: { name: "Plugin" } });
	const write = (files: object) =>
		here("PATCH", `${path}/${made.body.id}/update_source`, { body: files });
	const name = "x".repeat(201);
	expect(await write({ [name]: "" })).toMatchObject(
		wrong("max_length", "Ensure this field has no more than 200 characters.", name),
	);
	expect(await write({ " ": "" })).toMatchObject(
		wrong("blank", "This field may not be blank.", " "),
	);
});
