import { expect, test } from "vitest";
import { whyNot, whyNotInvite, whyNotInviteToProject } from "../../src/people/levels.ts";

const WHY = {
	A: "You can only edit others if you are an admin.",
	B: "You can only edit others with level lower or equal to you.",
	C: "You can't change your own access level.",
	D: "You can only make another member owner if you're this organization's owner.",
	E: "You can only change access level of others to lower or equal to your current one.",
};

const MEMBER = 1;
const ADMIN = 8;
const OWNER = 15;

/** The caller's level, the other member's, and why it may not: remove it, make it 1, 8, 15. */
test.each([
	[MEMBER, MEMBER, "AAAA"],
	[MEMBER, ADMIN, "AAAA"],
	[MEMBER, OWNER, "AAAA"],
	[ADMIN, MEMBER, "...D"],
	[ADMIN, ADMIN, "...D"],
	[ADMIN, OWNER, "BBBB"],
	[OWNER, MEMBER, "...."],
	[OWNER, ADMIN, "...."],
	[OWNER, OWNER, "...."],
	[MEMBER, "self", ".CCC"],
	[ADMIN, "self", ".CCC"],
	[OWNER, "self", ".CCC"],
])("a caller of level %d and a member of level %s: %s", (level, other, expected) => {
	const caller = { user_id: 1, level };
	const target = other === "self" ? caller : { user_id: 2, level: Number(other) };
	const found = [undefined, MEMBER, ADMIN, OWNER].map((to) => whyNot(caller, target, to));
	const texts = new Map(Object.entries(WHY));
	expect(found).toEqual(Array.from(expected, (letter) => texts.get(letter)));
});

test("a level between those that there are can't be given from below", () => {
	const [caller, target] = [
		{ user_id: 1, level: ADMIN },
		{ user_id: 2, level: MEMBER },
	];
	expect(whyNot(caller, target, 10)).toBe(WHY.E);
});

test.each([
	[MEMBER, [true, false, false]],
	[ADMIN, [true, true, false]],
	[OWNER, [true, true, true]],
])("level %d invites people up to its own", (level, expected) => {
	const why = [MEMBER, ADMIN, OWNER].map((to) => whyNotInvite({ level }, to));
	expect(why.map((text) => text === undefined)).toEqual(expected);
	expect(why.find((text) => text !== undefined) ?? TOO_HIGH).toBe(TOO_HIGH);
});

const TOO_HIGH = "You cannot invite a user with a higher permission level than your own.";

/** The caller's level in the organization, that in the project, and the highest it may give. */
test.each([
	[MEMBER, null, MEMBER],
	[MEMBER, MEMBER, MEMBER],
	[MEMBER, ADMIN, ADMIN],
	[ADMIN, null, ADMIN],
	[ADMIN, MEMBER, ADMIN],
	[OWNER, null, ADMIN],
])("level %d with level %s in a project invites to it up to %d", (level, own, highest) => {
	const why = [MEMBER, ADMIN].map((to) => whyNotInviteToProject({ level }, own, to));
	const text = "You cannot invite to a private project with a higher level than your own.";
	expect(why).toEqual([MEMBER, ADMIN].map((to) => (to > highest ? text : undefined)));
});
