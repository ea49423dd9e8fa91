import { describe, expect, test, vi } from "vitest";
import { wrong } from "../support/errors.ts";
import { outbox } from "../support/mail.ts";
import { eventually } from "../support/time.ts";
import { call, join, world } from "../support/world.ts";

const create = async (body: unknown) =>
	(await world()).ask("POST", "/api/organizations/", { body });

describe("an invalid field is named, with the reason", () => {
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
		[{ name: "x", logo_media_id: 7 }, "invalid_input", "Must be a valid UUID.", "logo_media_id"],
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
		[
			{ label: "x", scopes: ["*"], expires_at: 7 },
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

	test("an invalid level: an integer is not a choice, a word is not an integer", async () => {
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

	test("an error doesn't repeat a number whose digits are lost", async () => {
		const { ask, here } = await world();
		const headers = { "content-type": "application/json" };
		const raw = '{"target_email": "a@example.com", "level": 9007199254740993}';
		expect(await here("POST", "/invites", { raw, headers })).toMatchObject(
			wrong("invalid_choice", '"…" is not a valid choice.', "level"),
		);
		expect(
			await ask("POST", "/api/personal_api_keys", {
				raw: '{"label": "x", "scopes": 9007199254740993}',
				headers,
			}),
		).toMatchObject(wrong("not_a_list", 'Expected a list of items but got type "int".', "scopes"));
	});
});

test("lengths are counted in code points: 64 characters of any plane fit", async () => {
	expect((await create({ name: "🦔".repeat(64) })).status).toBe(201);
	expect((await create({ name: "🦔".repeat(65) })).body.code).toBe("max_length");
});

test("strings are trimmed", async () => {
	expect((await create({ name: "  Acme\n" })).body.name).toBe("Acme");
});

test("UUIDs and choices are trimmed, and UUIDs are stored in lower case", async () => {
	const id = "01234567-89AB-CDEF-0123-456789ABCDEF";
	const { body } = await create({ name: "x", logo_media_id: ` ${id} ` });
	expect(body.logo_media_id).toBe(id.toLowerCase());
	const { ask } = await world();
	const key = { label: "x", scopes: [" user:read "] };
	const created = await ask("POST", "/api/personal_api_keys", { body: key });
	expect(created.body.scopes).toEqual(["user:read"]);
});

test("a list of ids or scopes drops duplicates, and its length is limited", async () => {
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

test("a time without an offset is UTC, and any offset is converted", async () => {
	const { ask } = await world();
	const created = async (expires_at: string) =>
		(
			await ask("POST", "/api/personal_api_keys/", {
				body: { label: "x", scopes: ["*"], expires_at },
			})
		).body.expires_at;
	expect(await created("2097-01-02T03:04:05")).toBe("2097-01-02T03:04:05.000Z");
	expect(await created("2097-01-02T03:04:05.123456+02:00")).toBe("2097-01-02T01:04:05.123Z");
	expect(await created("2097-01-02")).toBe("2097-01-02T00:00:00.000Z");
});

/** A pattern with quadratic run time would need half an hour for this text. */
test("a long text that isn't a time is rejected in linear time", async () => {
	const { here } = await world();
	const response = await here("POST", "/batch_exports", {
		body: {
			name: "x",
			destination: { type: "NoOp" },
			interval: "hour",
			start_at: `${"T".repeat(1_000_000)}Z`,
		},
	});
	expect(response).toMatchObject(
		wrong("invalid_input", "Datetime has wrong format. Use ISO 8601.", "start_at"),
	);
});

describe("a body that can’t be read", () => {
	test("gets a parse error that does not quote it", async () => {
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

	test("gets a 415 with its media type if that is not JSON", async () => {
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

	test("gets a 415 with its encoding if it is compressed", async () => {
		const { ask } = await world();
		const send = (encoding: string) =>
			ask("POST", "/api/organizations", {
				body: { name: "x" },
				headers: { "content-encoding": encoding },
			});
		expect(await send("gzip")).toMatchObject({
			status: 415,
			body: {
				code: "unsupported_media_type",
				detail: 'Unsupported content encoding "gzip" in request.',
			},
		});
		expect((await send("br")).headers.get("accept-encoding")).toBe("identity");
		expect((await send("Identity")).status).toBe(201);
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

	test("gets a parse error if it has only control characters, and isn't taken for an empty one", async () => {
		const { here } = await world();
		const headers = { "content-type": "application/json" };
		for (const byte of [0x00, 0x0b, 0x1f]) {
			const raw = await bytes([0x20, byte]);
			expect((await here("PATCH", "", { raw, headers })).body.code).toBe("parse_error");
		}
		const raw = await bytes([0x20, 0x09, 0x0a, 0x0d]);
		expect((await here("PATCH", "", { raw, headers })).status).toBe(200);
	});

	test("may begin with a byte order mark, as JSON and as JSON lines", async () => {
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
		"gets a parse error if its content type has another charset: %s",
		async (charset) => {
			const { ask } = await world();
			const request = {
				body: { name: "x" },
				headers: { "content-type": `application/json; charset=${charset}` },
			};
			expect((await ask("POST", "/api/organizations", request)).body).toMatchObject({
				code: "parse_error",
				detail: "JSON parse error - The charset of the body must be UTF-8.",
			});
		},
	);

	test("is parsed if its content type writes UTF-8 in another way", async () => {
		const { ask } = await world();
		for (const charset of ["utf8", '"UTF-8"', "utf-8; q=1"]) {
			const request = {
				body: { name: "x" },
				headers: { "content-type": `application/json;charset=${charset}` },
			};
			expect((await ask("POST", "/api/organizations", request)).status).toBe(201);
		}
	});

	test.each([{}, { "content-length": "50" }])(
		"gets a 400, not a 500, if the client disconnects before its end, with headers %j",
		async (length) => {
			const { ask } = await world();
			const error = vi.spyOn(console, "error");
			const raw = new ReadableStream({
				pull(controller) {
					controller.enqueue(new TextEncoder().encode('{"name": '));
					controller.error(new Error("Network connection lost."));
				},
			});
			const response = await ask("POST", "/api/organizations", {
				raw,
				headers: { "content-type": "application/json", ...length },
				env: {},
			});
			expect(response).toMatchObject({
				status: 400,
				body: {
					code: "parse_error",
					detail: "JSON parse error - The body ended too early.",
				},
			});
			expect(error).not.toHaveBeenCalled();
			error.mockRestore();
		},
	);

	test("of JSON lines gets an error with the number of the invalid line", async () => {
		const { ask, project } = await world();
		const raw = '{"event": "a", "distinct_id": "b"}\n\n{"event": }';
		const headers = { "content-type": "application/x-ndjson" };
		const { body } = await ask("POST", `/api/projects/${project}/events`, {
			raw,
			headers,
		});
		expect(body.detail).toMatch(/^JSON parse error - line 3: /);
	});

	test("is read with and without a content length", async () => {
		const { ask } = await world();
		const raw = '{"name": "é"}';
		const bytes = new TextEncoder().encode(raw);
		const headers = { "content-type": "application/json" };
		for (const request of [
			{ raw, headers: { ...headers, "content-length": String(bytes.length) } },
			{ raw: new Blob([raw]).stream(), headers },
		])
			expect(await ask("POST", "/api/organizations", request)).toMatchObject({
				status: 201,
				body: { name: "é" },
			});
	});

	test("gets a 413 if it is larger than 1 MiB, with and without a content length", async () => {
		const { ask } = await world();
		const raw = JSON.stringify({ name: "x".repeat(2 ** 20) });
		const headers = { "content-type": "application/json" };
		const response = {
			status: 413,
			body: { type: "invalid_request", code: "request_too_large", attr: null },
		};
		expect(await ask("POST", "/api/organizations", { raw, headers })).toMatchObject(response);
		const stream = new Blob([raw]).stream();
		expect(await ask("POST", "/api/organizations", { raw: stream, headers })).toMatchObject(
			response,
		);
	});

	test("counts as {} if it is empty", async () => {
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

describe("checks of access come before those of the body", () => {
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
		for (const request of bad) {
			expect((await call("PATCH", path, { key: stranger, ...request })).status).toBe(404);
			expect((await call("PATCH", path, { key: member, ...request })).body.detail).toBe(
				"Your organization access level is insufficient.",
			);
			expect([400, 415]).toContain((await call("PATCH", path, { key: admin, ...request })).status);
		}
	});

	test("a missing object in the path is reported before an invalid body", async () => {
		const { ask } = await world();
		for (const request of [...bad, { body: { label: 7 } }])
			expect(
				(await ask("PATCH", "/api/personal_api_keys/01a1fee0-f263-7006-bf2a-924fa6cc9800", request))
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

test("an email address must be one that mail servers accept", async () => {
	const { here } = await world();
	const invite = (target_email: string) => here("POST", "/invites", { body: { target_email } });
	const rejected = wrong("invalid_input", "Enter a valid email address.", "target_email");
	expect(await invite(`${"x".repeat(65)}@example.com`)).toMatchObject(rejected);
	expect(await invite("x@-example.com")).toMatchObject(rejected);
	expect(await invite("x@example-.com")).toMatchObject(rejected);
	expect(await invite("x..y@example.com")).toMatchObject(rejected);
	expect((await invite(`${"x".repeat(64)}@example.com`)).status).toBe(201);
	expect((await invite("O'Brien+list@Mail-1.Example.com")).status).toBe(201);
	for (const local of [".x", "x.", "x y", '"x"', "x,y", "(x)", "<x>", "x;y", "x\\y", "\u00fc"])
		expect(await invite(`${local}@example.com`)).toMatchObject(rejected);
});

test("an email address can have all characters of a dot-atom, in links and mails, too", async () => {
	const home = await world();
	const mails = outbox();
	const configured = {
		...mails.env,
		MAIL_FROM: "tenantry@example.com",
		APP_URL: "https://app.example.com",
	};
	for (const local of ["r&d", ..."!#$%&'*+/=?^_`{|}~-"]) {
		const target_email = `${local}@example.com`;
		const { status, body } = await home.here("POST", "/invites", {
			body: { target_email },
			env: configured,
		});
		expect({ status, target_email: body.target_email }).toEqual({ status: 201, target_email });
		const [mail] = mails.take();
		expect(mail?.to).toBe(target_email);
		const [pathname] = /\/invites\/[\w-]+/.exec(mail?.text ?? "") ?? [];
		expect((await call("GET", `/api${pathname}`)).body.target_email).toBe(target_email);
		const accepted = await call("POST", `/api${pathname}/accept`, { body: {} });
		expect(accepted.status).toBe(200);
		const found = await home.here("GET", `/members?email=${encodeURIComponent(target_email)}`);
		expect(found.body.results).toMatchObject([{ user: { email: target_email } }]);
		const headers = { "cf-connecting-ip": crypto.randomUUID() };
		const signIn = { body: { email: target_email }, env: configured, headers };
		expect((await call("POST", "/api/sign_in", signIn)).status).toBe(202);
		await eventually(async () => expect(mails.take()).toMatchObject([{ to: target_email }]));
	}
});

test("the ASCII letters of an email address are converted to lower case, and no others", async () => {
	const { here } = await world();
	const kelvin = "\u212a";
	for (const target_email of [`${kelvin}@example.com`, `x@${kelvin}.com`])
		expect(await here("POST", "/invites", { body: { target_email } })).toMatchObject(
			wrong("invalid_input", "Enter a valid email address.", "target_email"),
		);
	await here("POST", "/invites", { body: { target_email: "K@Example.com" } });
	const { body } = await here("GET", "/invites");
	expect(body.results).toMatchObject([{ target_email: "k@example.com" }]);
});

test("a name of characters that nobody can see is blank", async () => {
	const { ask, here } = await world();
	const blank = wrong("blank", "This field may not be blank.", "name");
	for (const name of [
		"\u200b",
		"\u2060",
		"\u00ad \u00ad",
		"\ufeff",
		"\u3164",
		"\u2800",
		"\ufe0f",
		" ",
	]) {
		expect(await ask("POST", "/api/organizations", { body: { name } })).toMatchObject(blank);
		expect(await here("PATCH", "", { body: { name } })).toMatchObject(blank);
	}
	// The joiner of an emoji, and the end of a word in Persian.
	for (const name of ["👩\u200d💻", "خانه\u200cها"])
		expect((await here("PATCH", "", { body: { name } })).body.name).toBe(name);
});

test("an invalid key in an object is rejected with the reason", async () => {
	const { here } = await world();
	const path = "/pipeline_destinations";
	const created = await here("POST", path, { body: { name: "Plugin" } });
	const write = (files: object) =>
		here("PATCH", `${path}/${created.body.id}/update_source`, { body: files });
	const name = "x".repeat(201);
	expect(await write({ [name]: "" })).toMatchObject(
		wrong("max_length", "Ensure this field has no more than 200 characters.", name),
	);
	expect(await write({ " ": "" })).toMatchObject(
		wrong("blank", "This field may not be blank.", " "),
	);
});
