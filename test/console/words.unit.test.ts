import { expect, test } from "vitest";
import { dayAfter, usualExpiry } from "../../packages/console/src/pages/keys/states.ts";
import { addressesIn } from "../../packages/console/src/pages/members/addresses.ts";
import { problemOf } from "../../packages/console/src/pages/sign_in/problems.ts";
import { PROBLEMS } from "../../src/sign_in/provider/problems.ts";

test("pasted addresses are found in any mixture, and what is none is named", () => {
	const text = `ada@example.com, Grace Hopper <Grace@example.com>;bob@example.com carl@example.com
		"Lovelace, Ada" <ada2@example.com>
		Turing, Alan <alan@example.com>, ADA@example.com
		<mailto:eve@example.com>, nobody at all
		half@`;
	expect(addressesIn(text)).toEqual({
		invitees: [
			{ email: "ada@example.com", first_name: "" },
			{ email: "grace@example.com", first_name: "Grace" },
			{ email: "bob@example.com", first_name: "" },
			{ email: "carl@example.com", first_name: "" },
			{ email: "ada2@example.com", first_name: "Ada" },
			{ email: "alan@example.com", first_name: "Alan" },
			{ email: "eve@example.com", first_name: "" },
		],
		problems: ["“nobody at all” isn't an email address.", "“half@” isn't an email address."],
		header: undefined,
		ignored: [],
		repeated: 1,
	});
});

const PROJECTS = [
	{ id: 7, name: "Shop, secret" },
	{ id: 8, name: "Ops" },
];

test.each([
	["tabs", "\t"],
	["commas", ","],
	["semicolons", ";"],
])("rows of a spreadsheet separated by %s have names, levels and projects", (_, separator) => {
	const rows = [
		["E-Mail", "Department", "Full name", "Role", "Projects", "Manager"],
		["ada@example.com", "R&D", '"Ada ""The"" Lovelace"', "Admin", "", "x"],
		["GRACE@example.com", "Navy", "Grace Hopper", "member", '"Ops (admin)"', "y"],
		["alan@example.com", "", "", "", "", ""],
	];
	const text = rows.map((row) => row.join(separator)).join("\r\n");
	const { invitees, problems, ignored } = addressesIn(text, PROJECTS);
	expect(invitees.map(({ said, ...one }) => ({ ...one, ...said, line: undefined }))).toEqual([
		{ email: "ada@example.com", first_name: "Ada", level: 8 },
		{ email: "grace@example.com", first_name: "Grace", level: 1, projects: [{ id: 8, level: 8 }] },
		{ email: "alan@example.com", first_name: "", projects: [] },
	]);
	expect(problems).toEqual([]);
	expect(ignored).toEqual(["Department", "Manager"]);
});

test("what is wrong with rows of a spreadsheet is named, and the rest is used", () => {
	const text = `email\tlevel\tprojects
ada@example.com\tboss\tNowhere
nobody\tconstructor\t
ada@example.com\t\t`;
	expect(addressesIn(text, PROJECTS)).toMatchObject({
		header: "email\tlevel\tprojects",
		invitees: [{ email: "ada@example.com", said: { line: "ada@example.com\tboss\tNowhere" } }],
		problems: [
			"“nobody” isn't an email address.",
			"ada@example.com: “boss” isn't a level.",
			"ada@example.com: “Nowhere” isn't a private project.",
			"nobody: “constructor” isn't a level.",
		],
		ignored: [],
		repeated: 1,
	});
});

const UNKNOWN = "Signing in didn't work. Try again.";

test("each problem of a sign-in through a provider has words", () => {
	for (const code of PROBLEMS) expect(problemOf(code)).not.toBe(UNKNOWN);
	expect(problemOf("__proto__")).toBe(UNKNOWN);
});

test.each([
	["that never ends", null, "90"],
	["that ends after 91 days", 91, "90"],
	["that ends after 89 days", 89, "session"],
])("the form of a new key, in a session %s (%s days), begins with %s", (_, days, choice) => {
	expect(usualExpiry(days === null ? null : dayAfter(days))).toBe(choice);
});
