import { expect, test } from "vitest";
import { nearest } from "../../src/lib/nearest.ts";

const KNOWN = ["name", "target_email", "private_project_access", "level", "limit"];

test.each([
	["nmae", "name"],
	["Name", "name"],
	["nam", "name"],
	["targetEmail", "target_email"],
	["target_emial", "target_email"],
	["private_projects_acess", "private_project_access"],
	["limits", "limit"],
	["levle", "level"],
])("%s is near to %s", (name, known) => {
	expect(nearest(name, KNOWN)).toBe(known);
});

test.each(["x", "", "colour", "message", "n".repeat(10_000), "name".repeat(20)])(
	"nothing is near to %.20s",
	(name) => {
		expect(nearest(name, KNOWN)).toBeUndefined();
	},
);
