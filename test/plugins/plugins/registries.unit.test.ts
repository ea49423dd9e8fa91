import { describe, expect, test, vi } from "vitest";
import { describeLimit, identify } from "../../../src/plugins/plugins/registries.ts";

test.each([
	[
		"https://github.com/u/Hello",
		[
			"https://github.com/u/Hello/",
			"https://github.com/u/Hello.git",
			"https://github.com/u/Hello.git/",
			"https://www.github.com/u/Hello",
			"http://github.com/u/Hello//",
			"HTTP://GitHub.com:80/u/Hello?tab=readme#top",
		],
	],
	[
		"https://github.com/u/hello/tree/v1",
		["https://github.com/u/hello/commit/v1", "https://github.com/u/hello/releases/tag/v1/"],
	],
	[
		"https://github.com/u/hello/tree/v1%2Fx",
		["https://github.com/u/hello/releases/tag/v1%2Fx", "https://github.com/u/hello/commit/v1%2Fx"],
	],
	["https://gitlab.com/g/sub/hello", ["http://www.gitlab.com/g/sub/hello.git/"]],
	[
		"https://gitlab.com/g/hello/-/tree/v1",
		["https://gitlab.com/g/hello/-/tags/v1", "https://gitlab.com/g/hello.git/-/commit/v1/"],
	],
	[
		"https://www.npmjs.com/package/hello",
		["https://npmjs.com/package/hello/", "http://NPMJS.com/package/hello"],
	],
	[
		"https://www.npmjs.com/package/@scope/hello/v/1.0.0",
		["https://npmjs.com/package/@scope/hello/v/1.0.0/?activeTab=code"],
	],
])("%s is the canonical form of all its spellings", (address, urls) => {
	expect([address, ...urls].map((url) => identify(url).address)).toEqual(
		Array(urls.length + 1).fill(address),
	);
});

test.each([
	"",
	"hello",
	"https://example.com/u/hello",
	"https://constructor/u/hello",
	"http://github.com:444/u/hello",
	"ftp://github.com/u/hello",
	"https://github.com:444/u/hello",
	"https://github.com@127.0.0.1/u/hello",
	"https://someone:secret@github.com/u/hello",
	"https://github.com.example.com/u/hello",
	"https://github.com/u",
	"https://github.com/u/hello/issues",
	"https://github.com/u/hello/../../..",
	"https://gitlab.com/group",
	"https://gitlab.com/g/hello/-/issues",
	"https://www.npmjs.com/hello",
	"https://www.npmjs.com/package/",
	"https://www.npmjs.com/package/a/b",
	"https://www.npmjs.com/package/hello/v/",
	"https://www.npmjs.com/package/hello/v/constructor",
])("no plugin can be installed from %s", (url) => {
	expect(identify(url)).toEqual({ address: null, project: null, token: "" });
});

describe("a rate limit is told, with its end and what helps", () => {
	const now = Date.parse("2026-01-01T12:00:00.500Z");
	const at = "2026-01-01T13:00:00.000Z";
	const seconds = String(Date.parse(at) / 1000);

	const told = (status: number, headers: Record<string, string>, hasToken = false) => {
		vi.useFakeTimers({ now });
		const text = describeLimit(new Response(null, { status, headers }), "GitHub", hasToken);
		vi.useRealTimers();
		return text;
	};

	test.each<[status: number, headers: Record<string, string>, when: string | undefined]>([
		[403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": seconds }, `after ${at}`],
		[403, { "ratelimit-remaining": "0", "ratelimit-reset": seconds }, `after ${at}`],
		[429, { "x-ratelimit-reset": seconds }, `after ${at}`],
		[403, { "retry-after": "3600" }, "after 2026-01-01T13:00:00.500Z"],
		[429, { "ratelimit-reset": "3600" }, "after 2026-01-01T13:00:00.500Z"],
		[429, { "retry-after": new Date(at).toUTCString() }, `after ${at}`],
		[429, {}, "later"],
		[429, { "retry-after": "99999999999" }, "later"],
		[429, { "x-ratelimit-reset": "soon" }, "later"],
		[403, { "x-ratelimit-remaining": "7" }, undefined],
		[500, { "retry-after": "3600" }, undefined],
	])("%i with %j", (status, headers, when) => {
		const [ours, theirs] = [told(status, headers), told(status, headers, true)];
		expect(ours?.match(/Try again (.*), or add \?private_token= with/)?.[1]).toBe(when);
		expect(theirs?.match(/Try again (.*)\.$/)?.[1]).toBe(when);
	});
});
