import { v7 } from "uuid";
import { beforeAll, expect, test } from "vitest";
import { hasScope, scopes } from "../../src/access/scopes.ts";
import { address, guarded, type World } from "../support/routes.ts";
import { call, furnished } from "../support/world.ts";
import { granted } from "./support.ts";

/** One route for each scope. That each route needs the scope of its family is tested elsewhere. */
const examples = [...new Map(guarded.toReversed().map((route) => [route.scope, route])).values()];

let home: World;

beforeAll(async () => {
	home = await furnished();
});

test("each scope but * has a route", () => {
	const lacking = scopes.filter((scope) => !examples.some((route) => route.scope === scope));
	expect(new Set(lacking)).toEqual(new Set(["*", "activity_log:write"]));
});

test.each(scopes)("an app with %s reaches what needs it, and nothing else", async (scope) => {
	const { access } = await granted(home, { fields: { scope }, choice: { scopes: [scope] } });
	// Only the scopes matter, so the objects don't exist.
	const lost = { ...home, id: v7(), project: 2 ** 30 };
	const reached: string[] = [];
	for (const { method, path, scope, body } of examples) {
		const response = await call(method, address(path, lost), {
			key: access,
			...(body && { body: body(home) }),
			headers: { "cf-connecting-ip": v7() },
		});
		if (response.body?.detail !== `API key missing required scope '${scope}'`) reached.push(scope);
		else expect(response.headers.get("www-authenticate")).toContain(`scope="${scope}"`);
	}
	const expected = examples.filter((route) => hasScope([scope], route.scope));
	expect(reached).toEqual(expected.map((route) => route.scope));
});
