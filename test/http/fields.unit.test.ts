import { describe, expect, test } from "vitest";
import * as z from "zod";
import { create as createExport } from "../../src/exports/batch_exports/shape.ts";
import { choices } from "../../src/http/fields.ts";
import { readRelativeMoment } from "../../src/lib/moment.ts";
import * as organizations from "../../src/organizations/organizations/shape.ts";
import * as projects from "../../src/organizations/projects/shape.ts";
import { create as createInvite } from "../../src/people/invites/shape.ts";
import { filters } from "../../src/people/members/shape.ts";
import { create as createKey } from "../../src/people/personal_api_keys/shape.ts";
import { update as updateUser } from "../../src/people/users/shape.ts";
import { create as createPlugin } from "../../src/plugins/plugins/shape.ts";
import { wrong } from "../support/errors.ts";
import { read, readQuery } from "./echo.ts";

const KEY = { label: "x", scopes: ["*"] };

describe("a time", () => {
	const expiring = async (expires_at: string) =>
		(await read(createKey, { ...KEY, expires_at })).body;

	test.each([
		["2097-01-02T03:04:05Z", "2097-01-02T03:04:05.000Z"],
		["2097-01-02t03:04:05z", "2097-01-02T03:04:05.000Z"],
		["2097-01-02 03:04:05", "2097-01-02T03:04:05.000Z"],
		["2097-01-02T03:04", "2097-01-02T03:04:00.000Z"],
		["2097-01-02 03:04Z", "2097-01-02T03:04:00.000Z"],
		["2097-01-02T03:04:05.5Z", "2097-01-02T03:04:05.500Z"],
		["2097-01-02T03:04:05.1234567+02:00", "2097-01-02T01:04:05.123Z"],
		["2097-01-02T03:04:05+0200", "2097-01-02T01:04:05.000Z"],
		["2097-01-02T03:04:05-05", "2097-01-02T08:04:05.000Z"],
		["2097-01-02 03:04+05:30", "2097-01-01T21:34:00.000Z"],
		["2097-01-02", "2097-01-02T00:00:00.000Z"],
	])("%s is %s", async (text, moment) => {
		expect((await expiring(text)).expires_at).toBe(moment);
	});

	test.each([
		"2097-02-30",
		"2097-01-02T",
		"2097-01-02T03",
		"2097-01-02T24:00",
		"2097-01-02T03:04:0512",
		"2097-01-02T03:04:05.",
		"2097-01-02T03:04:05+2",
		"2097-01-02T03:04:05+02:60",
		"2097-01-02T03:04:05 02:00",
		"2097-01-02Z",
		"20270102T030405Z",
		"1798859045",
		"0000-12-31",
		// A pattern with quadratic run time would need half an hour for this text.
		`${"T".repeat(1_000_000)}Z`,
	])("%.30s is none", async (text) => {
		expect(await expiring(text)).toMatchObject({
			code: "invalid_input",
			detail: "Datetime has wrong format. Use ISO 8601.",
			attr: "expires_at",
		});
	});

	test.each([
		["-90s", "2028-03-31T11:58:30.000Z"],
		["-30M", "2028-03-31T11:30:00.000Z"],
		["-24h", "2028-03-30T12:00:00.000Z"],
		["-2d", "2028-03-29T12:00:00.000Z"],
		["-1w", "2028-03-24T12:00:00.000Z"],
		["-1m", "2028-02-29T12:00:00.000Z"],
		["-14m", "2027-01-31T12:00:00.000Z"],
		["-1y", "2027-03-31T12:00:00.000Z"],
		["-2027y", "0001-03-31T12:00:00.000Z"],
		["-2028y", undefined],
		["-999999y", undefined],
		["2d", undefined],
		["-d", undefined],
		["-1.5d", undefined],
		["-2D", undefined],
		["--2d", undefined],
	])("relative to 2028-03-31T12:00:00Z, %s is %s", (text, moment) => {
		expect(readRelativeMoment(text, new Date("2028-03-31T12:00:00Z"))).toBe(moment);
	});

	test("in a query string can be relative to now, or have a space in place of the offset's +", async () => {
		const after = async (text: string) =>
			(await readQuery(filters, `updated_after=${text}`)).body.updated_after;
		expect(Date.parse(String(await after("-1d")))).toBeLessThanOrEqual(Date.now() - 86_400_000);
		for (const text of [
			"2026-01-02T05:04:05+02:00",
			"2026-01-02T05:04:05%2B02:00",
			"2026-01-02+05:04:05+02:00",
		])
			expect([text, await after(text)]).toEqual([text, "2026-01-02T03:04:05.000Z"]);
	});
});

describe("an integer", () => {
	const scoped = async (id: unknown) =>
		(await read(createKey, { ...KEY, scoped_projects: [id] })).body;

	test.each([7, "7", " 7 ", "07"])("may be sent as %j, and is kept as a number", async (id) => {
		expect((await scoped(id)).scoped_projects).toEqual([7]);
	});

	test.each(["1e3", "5.0", "0x10", "", "1_000", "one", "+5", true, [1]])(
		"can't be %j",
		async (id) => {
			expect(await scoped(id)).toMatchObject({
				detail: "A valid integer is required.",
				attr: "scoped_projects__0",
			});
		},
	);

	test("sent as text is limited to 32 bits, too", async () => {
		expect(await scoped("2147483648")).toMatchObject({
			code: "max_value",
			detail: "Ensure this value is less than or equal to 2147483647.",
		});
		expect(await scoped("-2147483649")).toMatchObject({
			code: "min_value",
			detail: "Ensure this value is greater than or equal to -2147483648.",
		});
	});
});

describe("a choice in a query string", () => {
	const shape = z.object({ level: choices(["INFO", "WARNING", "ERROR"]) });

	test.each([
		["level=info", ["INFO"]],
		["level=INFO", ["INFO"]],
		["level=Warning&level=%20info", ["WARNING", "INFO"]],
	])("%s is taken in any case, once or several times", async (query, level) => {
		expect((await readQuery(shape, query)).body).toEqual({ level });
	});

	test.each([
		["level=loud", "level", '"loud" is not a valid choice.'],
		["level=info&level=loud", "level__1", '"loud" is not a valid choice.'],
		["level=", "level", '"" is not a valid choice.'],
	])(
		"%s is named by its parameter, and its position if that is repeated",
		async (query, attr, detail) => {
			expect(await readQuery(shape, query)).toMatchObject({
				status: 400,
				body: { code: "invalid_choice", attr, detail },
			});
		},
	);
});

const CONTROL = "Control characters are not allowed.";

/** Fields that are shown in one line, and the rest of a valid body. */
const NAMES: [string, z.ZodType, string, object][] = [
	["a new organization", organizations.create, "name", {}],
	["an organization", organizations.update, "name", {}],
	["a new project", projects.create, "name", {}],
	["a project", projects.update, "name", {}],
	["a user", updateUser, "first_name", {}],
	["a user", updateUser, "last_name", {}],
	["a key", createKey, "label", { scopes: ["*"] }],
	["an invite", createInvite, "first_name", { target_email: "c@tenantry.test" }],
	["a plugin", createPlugin, "name", {}],
	["an export", createExport, "name", { destination: { type: "NoOp" }, interval: "hour" }],
];

describe.each(NAMES)("the name of %s: %s %s", (_, shape, attr, others) => {
	const named = (value: string) => read(shape, { ...others, [attr]: value });

	test("has no control characters", async () => {
		for (const character of [
			"\u0001",
			"\n",
			"\t",
			"\u001b",
			"\u007f",
			"\u0085",
			"\u2028",
			"\u202e",
			"\u2066",
		])
			expect(await named(`a${character}b`)).toMatchObject(wrong("invalid_input", CONTROL, attr));
	});

	test("may have joiners and direction marks", async () => {
		// An emoji, and words in Persian.
		for (const name of ["👩\u200d💻", "خانه\u200cها", "\u0646\u200c\u0627\u200e"])
			expect((await named(name)).body[attr]).toBe(name);
	});
});

test("a name of characters that nobody can see is blank", async () => {
	for (const name of [..."\u200b\u2060\ufeff\u3164\u2800\ufe0f ", "\u00ad \u00ad"])
		for (const shape of [organizations.create, organizations.update])
			expect(await read(shape, { name })).toMatchObject(
				wrong("blank", "This field may not be blank.", "name"),
			);
});

test("text of several lines has no control characters but tabs and line breaks", async () => {
	const invite = (message: string) =>
		read(createInvite, { target_email: "lines@tenantry.test", message });
	expect((await invite("Hello,\r\n\twelcome.")).body.message).toMatch(/^Hello,\r\n\s+welcome\.$/);
	expect(await invite("a\u0007b")).toMatchObject(wrong("invalid_input", CONTROL, "message"));
	const description = "One\n\tTwo";
	expect((await read(createPlugin, { description })).body).toMatchObject({ description });
});

describe("an email address", () => {
	const invite = (target_email: string) => read(createInvite, { target_email });
	const kelvin = "\u212a";

	test.each([
		`${"x".repeat(65)}@example.com`,
		...["x@-example.com", "x@example-.com", "x..y@example.com"],
		// Only ASCII letters have another case.
		...[`${kelvin}@example.com`, `x@${kelvin}.com`],
		...[".x", "x.", "x y", '"x"', "x,y", "(x)", "<x>", "x;y", "x\\y", "\u00fc"].map(
			(local) => `${local}@example.com`,
		),
	])("can't be %s, which mail servers don't accept", async (address) => {
		expect(await invite(address)).toMatchObject(
			wrong("invalid_input", "Enter a valid email address.", "target_email"),
		);
	});

	test.each([
		[`${"x".repeat(64)}@example.com`, `${"x".repeat(64)}@example.com`],
		["O'Brien+list@Mail-1.Example.com", "o'brien+list@mail-1.example.com"],
		["K@Example.com", "k@example.com"],
	])("may be %s, and is kept as %s", async (address, kept) => {
		expect((await invite(address)).body.target_email).toBe(kept);
	});
});
