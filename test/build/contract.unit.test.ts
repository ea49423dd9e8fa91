import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { breakingChanges } from "../../build/breaking.ts";

const contract = readFileSync(`${import.meta.dirname}/../../docs/contract.txt`, "utf8");

const CREATE = "POST /api/organizations/{organization_id}/invites";

/** Returns what the change of a line breaks. */
function broken(line: string, ...changed: string[]) {
	const before = `${line}\n`;
	expect(contract).toContain(`\n${before}`);
	const after = changed.map((text) => `${text}\n`).join("");
	return breakingChanges(
		contract,
		contract.replace(`\n${before}`, () => `\n${after}`),
	);
}

test("the contract has all operations and fields, of which none is missing when nothing changes", () => {
	expect(contract.match(/^[A-Z]+ \/\S* \w+ \d{3}/gm)?.length).toBeGreaterThan(180);
	expect(contract).toContain(
		`\n${CREATE} createInvite 201 NewInvite scope=organization_member:write\n`,
	);
	expect(breakingChanges(contract, contract)).toEqual([]);
});

describe("breaks clients:", () => {
	test("an operation that was removed, once and not for each of its fields", () => {
		const path = "/api/organizations/{organization_id}/invites/{id}";
		const kept = contract.split("\n").filter((line) => !line.startsWith(`DELETE ${path} `));
		expect(breakingChanges(contract, kept.join("\n"))).toEqual([`DELETE ${path} was removed.`]);
	});

	test("an operation with another response or scope", () => {
		const line = `${CREATE} createInvite 201 NewInvite scope=organization_member:write`;
		expect(broken(line, line.replace(":write", ":read"))).toHaveLength(1);
		expect(broken(line, line.replace("201", "202"))).toHaveLength(1);
	});

	test("a field of a response that was removed, can be missing or has more values", () => {
		const line = "Invite.level 1|8|15";
		expect(broken(line)).toEqual(["Invite.level was removed."]);
		expect(broken(line, `${line} optional`)).toEqual([
			"Invite.level was always there and is now optional.",
		]);
		expect(broken(line, `${line}|null`)).toEqual([
			"Invite.level was 1|8|15 and is now 1|8|15|null.",
		]);
	});

	test("a field of a request that is required, is new and required, or has fewer values", () => {
		const line = `${CREATE} body.level 1|8|15 optional`;
		expect(broken(line, `${CREATE} body.level 1|8|15`)).toEqual([
			`${CREATE} body.level was optional and is now required.`,
		]);
		expect(broken(line, line, `${CREATE} body.reason string`)).toEqual([
			`${CREATE} body.reason is new and required.`,
		]);
		expect(broken(line, `${CREATE} body.level 1|8 optional`)).toEqual([
			`${CREATE} body.level was 1|8|15 and is now 1|8.`,
		]);
	});

	test("a new required field of a schema that requests use", () => {
		const line = "S3Destination object";
		expect(broken(line, line, "S3Destination.owner string")).toEqual([
			"S3Destination.owner is new and required.",
		]);
	});
});

test("new operations, optional fields, fields of responses and values of requests break nothing", () => {
	const line = `${CREATE} body.level 1|8|15 optional`;
	expect(broken(line, `${CREATE} body.level 1|8|15|16 optional`)).toEqual([]);
	expect(
		broken(
			line,
			line,
			`${CREATE} body.why object optional`,
			`${CREATE} body.why.text string`,
			"GET /api/news listNews 200 NewsPage",
			"GET /api/news query.about string",
		),
	).toEqual([]);
	expect(broken("Invite object", "Invite object", "Invite.colour string")).toEqual([]);
});
