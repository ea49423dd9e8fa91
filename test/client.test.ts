import { hc } from "hono/client";
import { expect, test } from "vitest";
import type { AppType } from "../src/app.ts";

const client = hc<AppType>("https://tenantry.test");

test("a typed client generates the API's paths", () => {
	const { organizations } = client.api;
	const url = organizations[":organization_id"].members[":user__uuid"].$url({
		param: { organization_id: "@current", user__uuid: "@me" },
	});
	expect(url.pathname).toBe("/api/organizations/@current/members/@me");
});

/** Never called; the compiler checks it. */
export async function rejected() {
	// @ts-expect-error no such path
	client.api.nothing.$get();
	const member = client.api.organizations[":organization_id"].members[":user__uuid"];
	const param = { organization_id: "@current", user__uuid: "@me" };
	await member.$patch({ param, json: { level: 8 } });
	// @ts-expect-error a level must be a number
	await member.$patch({ param, json: { level: [] } });
	// @ts-expect-error no such level
	await member.$patch({ param, json: { level: 7 } });
	// @ts-expect-error the path's parameters are missing
	await member.$patch({ json: { level: 8 } });
	const { members } = client.api.organizations[":organization_id"];
	const page = await members.$get({
		param: { organization_id: "@current" },
		query: { limit: "10", search: "ada" },
	});
	const { results } = await page.json();
	results satisfies { level: number }[];
	// @ts-expect-error a page has no such field
	results satisfies { height: number }[];
	await members.$get({
		param: { organization_id: "@current" },
		// @ts-expect-error no such filter
		query: { height: "10" },
	});
}
