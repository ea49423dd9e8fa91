import { expect, test } from "vitest";
import { create } from "../../../src/organizations/projects/shape.ts";
import { problemOf } from "../../support/problems.ts";

test("a time zone is a name in the IANA database, and its case is corrected", async () => {
	for (const [sent, timezone] of [
		["europe/berlin", "Europe/Berlin"],
		["utc", "UTC"],
		["Asia/Kolkata", "Asia/Kolkata"],
	])
		expect(create.parse({ name: "x", timezone: sent })).toMatchObject({ timezone });
	for (const timezone of ["+01:00", "", "Mars/Base", "UTC+1"])
		expect(await problemOf(create, { name: "x", timezone })).toEqual({
			code: "invalid_choice",
			detail: `"${timezone}" is not a valid choice.`,
			attr: "timezone",
		});
});

test("the error names the first of several invalid fields", async () => {
	const body = { access_control: 7, timezone: "bad", organization: "bad" };
	expect(await problemOf(create, body)).toMatchObject({ attr: "name" });
	expect(await problemOf(create, { ...body, name: "x" })).toMatchObject({ attr: "organization" });
});
