import { hc } from "hono/client";
import { expect, test } from "vitest";
import * as z from "zod";
import type { AppType } from "../build/openapi/app_type.ts";
import type { AssertNone, Differences } from "../build/openapi/response_types.ts";
import { created, noContent, ok, paginated, router } from "../src/http/router.ts";

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
	// @ts-expect-error this path doesn't exist
	client.api.nothing.$get();
	const member = client.api.organizations[":organization_id"].members[":user__uuid"];
	const param = { organization_id: "@current", user__uuid: "@me" };
	await member.$patch({ param, json: { level: 8 } });
	// @ts-expect-error a level must be a number
	await member.$patch({ param, json: { level: [] } });
	// @ts-expect-error members can't have this level
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

const Thing = z.object({ id: z.int(), note: z.string().nullable(), labels: z.array(z.string()) });
const thing = { id: 1, note: null, labels: ["new"] };
const TEXT = { id: "getThing", summary: "Retrieve a thing", description: "Returns it." };
const pageOf = <T>(item: T) => ({ count: 1, next: null, previous: null, results: [item] });

/** Answers that fit what is documented, and one for each way in which they may not. */
export const answers = {
	right: router()
		.get("/", paginated(Thing, TEXT), (c) => c.json(pageOf(thing)))
		.get("/:id", ok(Thing, TEXT), async (c) => c.json(await Promise.resolve(thing)))
		.post("/", created(Thing, TEXT), (c) => c.json(thing, 201))
		.delete("/:id", noContent(TEXT), (c) => c.body(null, 204)),
	wrongType: router().get("/", ok(Thing, TEXT), (c) => c.json({ ...thing, id: "1" })),
	nullable: router().get("/", ok(z.object({ id: z.int() }), TEXT), (c) => {
		const id = Math.random() > 0.5 ? 1 : null;
		return c.json({ id });
	}),
	missing: router().get("/", ok(Thing, TEXT), (c) => c.json({ id: 1, note: null })),
	additional: router().get("/", ok(Thing, TEXT), (c) => c.json({ ...thing, secret: "x" })),
	inAList: router().get("/", ok(Thing, TEXT), (c) => c.json({ ...thing, labels: [1] })),
	inAPage: router().get("/", paginated(Thing, TEXT), (c) => c.json(pageOf({ ...thing, id: "1" }))),
	noPage: router().get("/", paginated(Thing, TEXT), (c) => c.json([thing])),
	status: router().post("/", created(Thing, TEXT), (c) => c.json(thing)),
	body: router().delete("/", noContent(TEXT), (c) => c.json(thing)),
};
type Answers = typeof answers;

/** The compiler checks these types. */
export type Checked = [
	AssertNone<Differences<Answers["right"]>>,
	// @ts-expect-error GET /: id has another type
	AssertNone<Differences<Answers["wrongType"]>>,
	// @ts-expect-error GET /: id has another type
	AssertNone<Differences<Answers["nullable"]>>,
	// @ts-expect-error GET /: labels is missing
	AssertNone<Differences<Answers["missing"]>>,
	// @ts-expect-error GET /: secret is not documented
	AssertNone<Differences<Answers["additional"]>>,
	// @ts-expect-error GET /: labels[] has another type
	AssertNone<Differences<Answers["inAList"]>>,
	// @ts-expect-error GET /: results[] id has another type
	AssertNone<Differences<Answers["inAPage"]>>,
	// @ts-expect-error GET /: has another type
	AssertNone<Differences<Answers["noPage"]>>,
	// @ts-expect-error POST /: the status is missing
	AssertNone<Differences<Answers["status"]>>,
	// @ts-expect-error DELETE /: the status differs
	AssertNone<Differences<Answers["body"]>>,
];
