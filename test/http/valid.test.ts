import { describe, expect, test, vi } from "vitest";
import { outbox } from "../support/mail.ts";
import { eventually } from "../support/time.ts";
import { call, join, world } from "../support/world.ts";

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

test("an email address can have all characters of a dot-atom, in links and mails, too", async () => {
	const home = await world();
	const mails = outbox();
	const configured = {
		...mails.env,
		MAIL_FROM: "tenantry@example.com",
		APP_URL: "https://app.example.com",
	};
	for (const local of ["r&d", "!#$%&'*", "+/=?^_`{|}~-"]) {
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
