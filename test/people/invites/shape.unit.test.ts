import { expect, test } from "vitest";
import { bulk, create } from "../../../src/people/invites/shape.ts";
import { problemOf } from "../../support/problems.ts";

const ADDRESS = "Enter a valid email address.";

test.each([
	[{ target_email: undefined }, "required", "This field is required.", "target_email"],
	[{ target_email: "" }, "blank", "This field may not be blank.", "target_email"],
	[{ target_email: "x" }, "invalid_input", ADDRESS, "target_email"],
	[{ target_email: "x@y.zz\r\nBcc: z@y.zz" }, "invalid_input", ADDRESS, "target_email"],
	[
		{ target_email: `${"x".repeat(250)}@y.zz` },
		"max_length",
		"Ensure this field has no more than 254 characters.",
		"target_email",
	],
	[
		{ first_name: "x".repeat(31) },
		"max_length",
		"Ensure this field has no more than 30 characters.",
		"first_name",
	],
	[{ level: 2 }, "invalid_choice", '"2" is not a valid choice.', "level"],
	[{ level: "admin" }, "invalid_input", "A valid integer is required.", "level"],
	[{ send_email: "maybe" }, "invalid_input", "Must be a valid boolean.", "send_email"],
])("the invite %j is rejected", async (body, code, detail, attr) => {
	const problem = await problemOf(create, { target_email: "x@y.zz", ...body });
	expect(problem).toEqual({ code, detail, attr });
});

test.each([
	[{}, "The field must be a list of dictionaries."],
	[null, "The field must be a list of dictionaries."],
	[[1], "Each item in the list must be a dictionary."],
	[[{ id: 1 }], 'Each dictionary must contain "id" and "level" keys.'],
	[[{ id: "one", level: 1 }], 'The "id" field must be an integer.'],
	[[{ id: 1, level: 15 }], 'The "level" field must be either "member" or "admin".'],
])("the access %j to private projects is rejected", async (private_project_access, detail) => {
	const body = { target_email: "x@y.zz", private_project_access };
	const attr = "private_project_access";
	expect(await problemOf(create, body)).toEqual({ code: "invalid_input", detail, attr });
});

const LIST = "This endpoint needs an array of data for bulk invite creation.";
const several = Array.from({ length: 21 }, (_, i) => ({ target_email: `${i}@y.zz` }));

test.each([
	[{ target_email: "x@y.zz" }, "invalid_input", LIST, null],
	[null, "invalid_input", LIST, null],
	[[], "empty", "This list may not be empty.", null],
	[several, "max_length", "A maximum of 20 invites can be sent in a single request.", null],
	[[several[0], { target_email: "x" }], "invalid_input", ADDRESS, "1__target_email"],
	[[several[0], "x"], "invalid_input", "Expected a dictionary of items.", "1"],
	[[several[0], {}], "required", "This field is required.", "1__target_email"],
	[
		[several[0], { target_email: " 0@Y.zz" }],
		"invalid_input",
		"The request has this email address more than once.",
		"1__target_email",
	],
])("the invites %j are rejected", async (body, code, detail, attr) => {
	expect(await problemOf(bulk, body)).toEqual({ code, detail, attr });
});

test("20 invites at once are accepted", async () => {
	expect(await problemOf(bulk, several.slice(1))).toBeUndefined();
});
