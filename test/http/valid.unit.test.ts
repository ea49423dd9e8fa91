import { describe, expect, test } from "vitest";
import { create as createOrganization } from "../../src/organizations/organizations/shape.ts";
import { create as createInvite } from "../../src/people/invites/shape.ts";
import { create as createKey } from "../../src/people/personal_api_keys/shape.ts";
import { create as addMember } from "../../src/people/project_members/shape.ts";
import { source } from "../../src/plugins/plugins/shape.ts";
import { wrong } from "../support/errors.ts";
import { read, readRaw } from "./echo.ts";

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
	])("%j: %s", async (sent, code, detail, attr) => {
		expect(await read(createOrganization, sent)).toMatchObject(wrong(code, detail, attr));
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
	])("%j: %s", async (sent, code, detail, attr) => {
		expect(await read(createKey, sent)).toMatchObject(wrong(code, detail, attr));
	});

	test.each([
		[15, "invalid_choice", '"15" is not a valid choice.'],
		["9", "invalid_choice", '"9" is not a valid choice.'],
		["admin", "invalid_input", "A valid integer is required."],
		["8.0", "invalid_input", "A valid integer is required."],
	])("a level can't be %j", async (level, code, detail) => {
		const user_uuid = crypto.randomUUID();
		expect(await read(addMember, { user_uuid, level })).toMatchObject(wrong(code, detail, "level"));
	});

	test("an error doesn't repeat a number whose digits are lost", async () => {
		const invite = '{"target_email": "a@example.com", "level": 9007199254740993}';
		expect(await readRaw(createInvite, invite)).toMatchObject(
			wrong("invalid_choice", '"…" is not a valid choice.', "level"),
		);
		const key = '{"label": "x", "scopes": 9007199254740993}';
		expect(await readRaw(createKey, key)).toMatchObject(
			wrong("not_a_list", 'Expected a list of items but got type "int".', "scopes"),
		);
	});

	test.each([
		["x".repeat(201), "max_length", "Ensure this field has no more than 200 characters."],
		[" ", "blank", "This field may not be blank."],
	])("the key of an object can't be %.9j", async (name, code, detail) => {
		expect(await read(source, { [name]: "" })).toMatchObject(wrong(code, detail, name));
	});
});

const named = async (name: string) => read(createOrganization, { name });

test("lengths are counted in code points: 64 characters of any plane fit", async () => {
	expect((await named("🦔".repeat(64))).status).toBe(200);
	expect((await named("🦔".repeat(65))).body.code).toBe("max_length");
});

test("strings, UUIDs and choices are trimmed, and UUIDs are stored in lower case", async () => {
	const id = "01234567-89AB-CDEF-0123-456789ABCDEF";
	const sent = { name: "  Acme\n", logo_media_id: ` ${id} ` };
	expect((await read(createOrganization, sent)).body).toMatchObject({
		name: "Acme",
		logo_media_id: id.toLowerCase(),
	});
	const key = { label: "x", scopes: [" user:read "] };
	expect((await read(createKey, key)).body.scopes).toEqual(["user:read"]);
});

test("a list of ids or scopes drops duplicates, and its length is limited", async () => {
	const sent = { label: "x", scopes: ["*", "*"], scoped_projects: [7, 7] };
	expect((await read(createKey, sent)).body).toMatchObject({ scopes: ["*"], scoped_projects: [7] });
	expect((await read(createKey, { ...sent, scopes: Array(101).fill("*") })).body).toMatchObject({
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
	const { body } = await read(createOrganization, { name: "x", enforce_2fa: word });
	expect(body.enforce_2fa).toBe(meaning);
});

test("unknown and read-only fields are ignored", async () => {
	const sent = { name: "x", slug: "mine", id: 7, membership_level: 1, nonsense: {} };
	const { status, body } = await read(createOrganization, sent);
	expect([status, body.name]).toEqual([200, "x"]);
	for (const field of ["slug", "id", "membership_level", "nonsense"])
		expect(body).not.toHaveProperty(field);
});
