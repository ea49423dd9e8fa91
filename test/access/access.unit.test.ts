import { expect, test } from "vitest";
import { hasAccess } from "../../src/access/key_access.ts";

const EARLY = "2999-01-01T00:00:00.000Z";
const LATE = "2999-01-02T00:00:00.000Z";

const ALL = {
	scopes: ["*"],
	organizations: [],
	projects: [],
	allowed_ips: [],
	expires_at: null,
};

/** Whether a key with `own` has the access of one with `wanted`. */
const has = (own: object, wanted: object, is_session = false) => {
	const key = { id: "", user_id: 1, ...ALL, ...own };
	return hasAccess({ key, is_session }, { ...ALL, ...wanted });
};

test.each([
	[{}, { expires_at: LATE }, true],
	[{ expires_at: LATE }, { expires_at: EARLY }, true],
	[{ expires_at: LATE }, { expires_at: LATE }, true],
	[{ expires_at: EARLY }, { expires_at: LATE }, false],
	[{ expires_at: EARLY }, {}, false],
	[{ organizations: ["a", "b"] }, { organizations: ["a"] }, true],
	[{ organizations: ["a"] }, { organizations: ["a", "b"] }, false],
	[{ organizations: ["a"] }, {}, false],
	[{ projects: [1] }, { projects: [1] }, true],
	[{ projects: [1] }, {}, false],
	[{ allowed_ips: ["10.0.0.0/8"] }, { allowed_ips: ["10.1.0.0/16"] }, true],
	[{ allowed_ips: ["10.1.0.0/16"] }, { allowed_ips: ["10.0.0.0/8"] }, false],
	[{ allowed_ips: ["10.1.0.0/16"] }, {}, false],
	[{ scopes: ["project:write"] }, { scopes: ["project:read"] }, true],
	[{ scopes: ["project:read"] }, { scopes: ["project:read", "project:write"] }, false],
])("whether a key with %j has the access %j: %j", async (own, wanted, expected) => {
	expect(await has(own, wanted)).toBe(expected);
});

test("a session counts as a key without expiry", async () => {
	expect(await has({ expires_at: EARLY }, {}, true)).toBe(true);
});
