import { v4, v7 } from "uuid";
import { expect, test } from "vitest";
import { type Origin, pack, unpack } from "../../src/db/schema/origin.ts";

const bytes = (text: string) => new TextEncoder().encode(text).length;

const origin = (key: Partial<Origin["key"]>, request: Partial<Origin["request"]>): Origin => ({
	key: { id: v7(), kind: "api_key", label: "Deploy", ...key },
	request: {
		address: "192.0.2.7",
		country: "FR",
		user_agent: "curl/8.5.0",
		request_id: v4(),
		...request,
	},
});

test("an origin is read as it was written, in fewer than 100 bytes", () => {
	const given = origin({}, {});
	expect(unpack(pack(given))).toEqual(given);
	expect(bytes(pack(given))).toBeLessThan(100);
	const unknown = { address: null, country: null, user_agent: null, request_id: null };
	expect(unpack(pack({ key: null, request: unknown }))).toEqual({ key: null, request: unknown });
	for (const kind of ["session", "app", "scim_token"] as const)
		expect(unpack(pack(origin({ kind }, {}))).key?.kind).toBe(kind);
});

test.each([
	["a long address", {}, { address: "2a02:8109:9ec0:5d3c:1c4b:33ff:fe21:7a9c" }],
	["an address that isn't one", {}, { address: "x".repeat(500) }],
	["an id of its caller", {}, { request_id: "A-".repeat(120) }],
	["other scripts", { label: "配信キー".repeat(10) }, { user_agent: "клиент".repeat(40) }],
	["half of a surrogate pair", { label: "😀".repeat(20) }, { user_agent: "\ud83d".repeat(80) }],
	["separators", { label: "a\tb\nc" }, { user_agent: "x\ty\u0000z" }],
])("%s takes at most 118 bytes, and changes no other field", (_, key, request) => {
	const given = origin(key, request);
	const text = pack(given);
	expect(bytes(text)).toBeLessThanOrEqual(118);
	expect(text.split("\t")).toHaveLength(7);
	const read = unpack(text);
	expect(read.key?.id).toBe(given.key?.id);
	expect(read.request?.country).toBe("FR");
	if (!("request_id" in request)) expect(read.request?.request_id).toBe(given.request?.request_id);
	if (!("address" in request)) expect(read.request?.address).toBe("192.0.2.7");
	expect(text.isWellFormed()).toBe(true);
});
