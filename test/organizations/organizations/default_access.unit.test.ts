import { expect, test } from "vitest";
import { parseDefaults } from "../../../src/organizations/organizations/default_access.ts";

test("the access for everyone in new organizations is a list of resources with levels", () => {
	expect([...parseDefaults(" batch_export:viewer, plugin : none")]).toEqual([
		["batch_export", "viewer"],
		["plugin", "none"],
	]);
	expect(parseDefaults(" ").size).toBe(0);
});

test.each([
	"everything: viewer",
	"plugin: owner",
	"plugin",
	"plugin: viewer,",
	"plugin: viewer: x",
	"plugin: none, plugin: viewer",
	"plugin: toString",
])("%j is an error that says what it must be", (text) => {
	expect(() => parseDefaults(text)).toThrow(/DEFAULT_ACCESS_LEVELS has ".*It must be a list like/);
});
