import { beforeAll, describe, expect, test } from "vitest";
import { organizationId, projects } from "../../src/db/schema/organizations.ts";
import { cost, db, times, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;
let home: Home;

beforeAll(async () => {
	home = await world();
	await times(249, (i) =>
		db.insert(projects).values({ organization_id: organizationId(home.id), name: `Project ${i}` }),
	);
});

const get = (query: string) => home.ask("GET", `/api/projects/${query}`);
const address = (search: string) => `https://tenantry.test/api/projects/${search}`;
/** A link without its cursor. */
const plain = (link: string) => link.replace(/&cursor=[\w-]+/, "");

describe("a page", () => {
	test("has 100 results by default, and links with the limit", async () => {
		const { body } = await get("");
		expect(body.count).toBe(250);
		expect(body.results).toHaveLength(100);
		expect(plain(body.next)).toBe(address("?limit=100&offset=100"));
		expect(body.previous).toBeNull();
	});

	test("has a link to the previous one, which for the first page has no offset", async () => {
		expect((await get("?limit=100&offset=100")).body.previous).toBe(address("?limit=100"));
		expect((await get("?limit=100&offset=50")).body.previous).toBe(address("?limit=100"));
		expect((await get("?limit=100&offset=200")).body).toMatchObject({
			next: null,
			previous: address("?limit=100&offset=100"),
		});
	});

	test("past the end is empty", async () => {
		expect((await get("?offset=1000")).body).toMatchObject({
			count: 250,
			next: null,
			results: [],
		});
		expect((await get("?offset=99999999999999999999999")).body).toMatchObject({
			count: 250,
			results: [],
		});
	});

	test.each(["", "0", "-1", "x", "1.5", "1e2", " "])(
		"falls back to the default for limit=%j",
		async (limit) => {
			const { body } = await get(`?limit=${limit}&offset=${limit}`);
			expect(body.results).toHaveLength(100);
			expect(body.previous).toBeNull();
		},
	);

	test("has 1,000 results at most", async () => {
		expect(plain((await get("?limit=1")).body.next)).toBe(address("?limit=1&offset=1"));
		const { body } = await get("?limit=5000&offset=1");
		expect(body.previous).toBe(address("?limit=1000"));
		expect(body.results).toHaveLength(249);
	});

	test("keeps the other query parameters in its links", async () => {
		const { here } = home;
		for (const name of ["a", "b", "c"]) await here("PATCH", "", { body: { name } });
		const { body } = await here(
			"GET",
			"/activity_log/?limit=1&scope=Organization&activity=updated&offset=1",
		);
		expect(body.count).toBe(3);
		for (const link of [body.next, body.previous]) {
			const { searchParams } = new URL(link);
			expect(Object.fromEntries(searchParams)).toMatchObject({
				limit: "1",
				scope: "Organization",
				activity: "updated",
			});
		}
	});
});

test("following next to the end has each row once", async () => {
	const seen: number[] = [];
	let path: string | null = "/api/projects/?limit=25";
	while (path) {
		const response = await home.ask("GET", path);
		seen.push(...response.body.results.map(({ id }: { id: number }) => id));
		expect(response.body.count).toBe(250);
		path = response.body.next;
	}
	expect(seen).toHaveLength(250);
	expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => b - a));
});

test("a page with a cursor costs no more than the first", async () => {
	const pages: number[] = [];
	let path: string | null = "/api/projects/?limit=50";
	while (path) {
		const response = await home.ask("GET", path);
		pages.push(cost(response).read);
		path = response.body.next;
	}
	const [first = 0, ...later] = pages;
	expect(Math.max(...later)).toBeLessThanOrEqual(first);
});

test("inserting and deleting rows while a caller follows next repeats and skips none", async () => {
	const first = await get("?limit=100");
	await db.insert(projects).values({ organization_id: organizationId(home.id), name: "Late" });
	const second = await home.ask("GET", first.body.next);
	const ids = (response: typeof first) => response.body.results.map(({ id }: { id: number }) => id);
	expect(Math.min(...ids(first))).toBe(Math.max(...ids(second)) + 1);
});

test("a cursor without its offset leads to the same page", async () => {
	const seen: number[] = [];
	let path: string | null = "/api/projects/?limit=100";
	while (path) {
		const { body } = await home.ask("GET", path);
		seen.push(...body.results.map(({ id }: { id: number }) => id));
		if (body.next === null) break;
		const next = new URL(body.next);
		const whole = await home.ask("GET", next.href);
		next.searchParams.delete("offset");
		expect((await home.ask("GET", next.href)).body).toEqual(whole.body);
		next.searchParams.set("offset", "");
		expect((await home.ask("GET", next.href)).body).toEqual(whole.body);
		path = next.href;
	}
	const all = await get("?limit=1000");
	expect(seen).toEqual(all.body.results.map(({ id }: { id: number }) => id));
	expect(seen.length).toBeGreaterThan(200);
});

test("a cursor is used only at the offset that it was made for", async () => {
	const first = await get("?limit=10");
	const cursor = new URL(first.body.next).searchParams.get("cursor");
	const ids = async (query: string) =>
		(await get(query)).body.results.map(({ id }: { id: number }) => id);
	const at = (offset: number) => `?limit=10&offset=${offset}`;
	expect(await ids(`${at(10)}&cursor=${cursor}`)).toEqual(await ids(at(10)));
	for (const offset of [0, 20, 100])
		expect(await ids(`${at(offset)}&cursor=${cursor}`)).toEqual(await ids(at(offset)));
});

test.each(["x", "W10", "WzEsMSxbMV1d", "%00", "eyJhIjoxfQ", "WzEwLC01LFsienp6eiJdXQ"])(
	"an invalid cursor, %j, is ignored",
	async (cursor) => {
		const { status, body } = await get(`?limit=10&offset=10&cursor=${cursor}`);
		expect(body.count).toBeGreaterThan(0);
		expect({ status, results: body.results.length }).toEqual({
			status: 200,
			results: 10,
		});
	},
);
