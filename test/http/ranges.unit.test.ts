import { expect, test } from "vitest";
import { readRange } from "../../src/http/ranges.ts";

const WHOLE = undefined;
const NONE = null;

test.each([
	[undefined, WHOLE],
	["bytes=0-0", { offset: 0, length: 1 }],
	["bytes=0-9", { offset: 0, length: 10 }],
	["bytes=3-", { offset: 3, length: 7 }],
	["bytes=3-1000000000000000000", { offset: 3, length: 7 }],
	[`bytes=9-${"9".repeat(400)}`, { offset: 9, length: 1 }],
	["bytes=-4", { offset: 6, length: 4 }],
	["bytes=-1000000000000000000", { offset: 0, length: 10 }],
	["Bytes = 1-2", { offset: 1, length: 2 }],
	["bytes=, 1-2 ,", { offset: 1, length: 2 }],
	["bytes=10-", NONE],
	["bytes=10-20", NONE],
	["bytes=1000000000000000000-", NONE],
	[`bytes=${"9".repeat(400)}-`, NONE],
	["bytes=-0", NONE],
	["bytes=10-, -0", NONE],
	["bytes=0-1, 3-4", WHOLE],
	["bytes=0-1, 10-", WHOLE],
	["bytes=2-1", WHOLE],
	["bytes=0-1, 2-1", WHOLE],
	["bytes=", WHOLE],
	["bytes=,", WHOLE],
	["bytes=-", WHOLE],
	["bytes=a-b", WHOLE],
	["bytes=1.5-2", WHOLE],
	["bytes=0x1-", WHOLE],
	["bytes=--1", WHOLE],
	["bytes", WHOLE],
	["lines=0-1", WHOLE],
	["", WHOLE],
])("%j of ten bytes is %j", (header, part) => {
	expect(readRange(header, 10)).toEqual(part);
});

test("of an empty file, there is no part", () => {
	expect(readRange("bytes=0-", 0)).toBe(NONE);
	expect(readRange("bytes=-1", 0)).toBe(NONE);
});
