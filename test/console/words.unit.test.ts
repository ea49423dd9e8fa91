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
		unknown: ["nobody at all", "half@"],
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
