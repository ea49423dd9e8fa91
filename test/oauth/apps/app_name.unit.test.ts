import { expect, test } from "vitest";
import { appName } from "../../../src/oauth/apps/metadata.ts";

test.each([
	["ノート <b>", "ノート <b>"],
	["x".repeat(47), `${"x".repeat(40)}…`],
	[" Notes\u202e\n", "Notes"],
	...[undefined, null, "", " ", "\u200b", 1, {}, ["Notes"]].map((name) => [name, "Unnamed app"]),
])("an app that calls itself %j is shown as %s", (name, shown) => {
	expect(appName("Unnamed app").parse(name)).toBe(shown);
});

test("a long host in place of a name is shortened", () => {
	const host = `${"notes.".repeat(20)}example`;
	expect(appName(host).parse("")).toBe(`${host.slice(0, 40)}…`);
});
