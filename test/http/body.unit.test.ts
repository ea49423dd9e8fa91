import { describe, expect, test } from "vitest";
import { events } from "../../src/exports/ingestion/shape.ts";
import { create, update } from "../../src/organizations/organizations/shape.ts";
import { readRaw } from "./echo.ts";

/** A body of texts and bytes. */
const bytes = (...parts: (string | number[])[]) =>
	new Blob(parts.map((part) => (typeof part === "string" ? part : new Uint8Array(part))));

const BOM = [0xef, 0xbb, 0xbf];

const JSON_LINES = { headers: { "content-type": "application/x-ndjson" }, lines: true };

const typed = (type: string) => ({ headers: { "content-type": type } });

const encoded = (encoding: string) => ({
	headers: { "content-type": "application/json", "content-encoding": encoding },
});

const LARGE = JSON.stringify({ name: "x".repeat(2 ** 20) });

const withLength = (length: number) => ({
	headers: { "content-type": "application/json", "content-length": String(length) },
});

test.each(['{"name": "secret-', '{name: "secret-"}', "secret-"])(
	"%s gets a parse error that does not quote it",
	async (raw) => {
		const { status, body } = await readRaw(create, raw);
		expect({ status, ...body }).toMatchObject({
			status: 400,
			type: "invalid_request",
			code: "parse_error",
			attr: null,
		});
		expect(body.detail).toMatch(/^JSON parse error - .+/);
		expect(body.detail).not.toContain("secret");
	},
);

const CODES: Record<number, string> = {
	400: "parse_error",
	413: "request_too_large",
	415: "unsupported_media_type",
};

test.each<[string, BodyInit, number, string, Parameters<typeof readRaw>[2]?]>([
	["Latin-1", bytes('{"name": "Jos', [0xe9], '"}'), 400, "The body is not UTF-8."],
	["half a character", bytes('{"name": "x"}', [0xc3]), 400, "The body is not UTF-8."],
	["a surrogate", bytes('{"name": "', [0xed, 0xa0, 0x80], '"}'), 400, "The body is not UTF-8."],
	["UTF-16", bytes([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), 400, "The body is not UTF-8."],
	["a null character", bytes([0x20, 0]), 400, "JSON parse error"],
	["a vertical tab", bytes([0x20, 0x0b]), 400, "JSON parse error"],
	["a separator", bytes([0x20, 0x1f]), 400, "JSON parse error"],
	["text", "name=x", 415, '"text/plain" in request', typed("text/plain; charset=utf-8")],
	["text in Latin-1", bytes([0xe9]), 415, '"text/plain"', typed("text/plain")],
	["JSON lines", "{}", 415, '"application/x-ndjson"', typed("application/x-ndjson")],
	["compressed JSON", "{}", 415, 'Unsupported content encoding "gzip"', encoded("gzip")],
	["more than 1 MiB", LARGE, 413, "", withLength(LARGE.length)],
	["more than 1 MiB, of unknown length", new Blob([LARGE]).stream(), 413, ""],
])("a body of %s is rejected", async (_, raw, status, detail, options) => {
	const response = await readRaw(create, raw, options);
	expect(response).toMatchObject({
		status,
		body: { type: "invalid_request", code: CODES[status], attr: null },
	});
	expect(response.body.detail).toContain(detail);
	if (detail.includes("encoding")) expect(response.headers.get("accept-encoding")).toBe("identity");
});

test.each(["latin1", '"iso-8859-1"', "utf-16", ""])("the charset can't be %j", async (charset) => {
	const { body } = await readRaw(create, "{}", typed(`application/json; charset=${charset}`));
	expect(body).toMatchObject({
		code: "parse_error",
		detail: "JSON parse error - The charset of the body must be UTF-8.",
	});
});

test("the error of JSON lines has the number of the invalid line", async () => {
	const raw = '{"event": "a", "distinct_id": "b"}\n\n{"event": }';
	const { body } = await readRaw(events, raw, JSON_LINES);
	expect(body.detail).toMatch(/^JSON parse error - line 3: /);
});

const NAMED = '{"name": "Zoë"}';

test.each<[string, BodyInit, Parameters<typeof readRaw>[2]?]>([
	["with a byte order mark", bytes(BOM, NAMED)],
	["of a media type that ends in JSON", NAMED, typed("application/vnd.api+json")],
	["that says that it isn't compressed", NAMED, encoded("Identity")],
	["with its length", NAMED, withLength(new TextEncoder().encode(NAMED).length)],
	["of unknown length", new Blob([NAMED]).stream()],
	["in UTF-8, written in another way", NAMED, typed("application/json;Charset=utf8")],
	["in quoted UTF-8", NAMED, typed('application/json;charset="UTF-8"')],
	["in UTF-8 with a parameter", NAMED, typed("application/json; charset=utf-8; q=1")],
])("a body %s is read", async (_, raw, options) => {
	expect(await readRaw(create, raw, options)).toMatchObject({ body: { name: "Zoë" } });
});

test("JSON lines may begin with a byte order mark", async () => {
	const lines = bytes(BOM, '{"event": "a", "distinct_id": "b"}\n');
	expect((await readRaw(events, lines, JSON_LINES)).body).toMatchObject([{ event: "a" }]);
});

describe("a body that is empty, or has only white space,", () => {
	test.each([null, "", " \t\n\r"])("counts as {}: %j", async (raw) => {
		expect((await readRaw(update, raw)).body).toEqual({});
		expect((await readRaw(update, raw, typed("text/plain"))).body).toEqual({});
		expect((await readRaw(create, raw)).body).toMatchObject({ code: "required", attr: "name" });
	});
});
