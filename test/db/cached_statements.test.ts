import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { cachedGuard } from "../../src/access/guard.ts";
import { CachedStatement, cacheByForm } from "../../src/db/cached_statements.ts";
import { domains } from "../../src/db/schema/organizations.ts";
import { members, users } from "../../src/db/schema/people.ts";
import { db, person, world } from "../support/world.ts";

describe("a cached statement", () => {
	const connected = Object.assign(db, { $client: env.DB });

	test("can't run without a value for each of its placeholders", () => {
		const ofProject = cachedGuard(env, { kind: "project", project: 0 });
		const values = { hash: "", user_id: 1, key_id: "", organization: "" };
		expect(() => ofProject.bind(connected, values)).toThrow('"project"');
		expect(() => ofProject.bind(connected, { ...values, project: 1 })).not.toThrow();
	});

	test("gets as many rows as each request asks for", async () => {
		const { here } = await world();
		for (let i = 0; i < 3; i++)
			await here("POST", "/domains", { body: { domain: `${v7()}.example.com` } });
		for (const limit of [2, 3, 1]) {
			const { body } = await here("GET", `/domains?limit=${limit}`);
			expect([body.results.length, body.count, body.next !== null]).toEqual([limit, 3, limit < 3]);
		}
	});

	test("is made once for each form", () => {
		const made: string[] = [];
		const cached = cacheByForm((_, { order }: { order: string }) => made.push(order));
		for (const order of ["asc", "desc", "asc", "desc"]) cached(env, { order });
		expect(made).toEqual(["asc", "desc"]);
	});

	test("reads nested objects and decoded values as Drizzle does", async () => {
		const { id } = (await world()).owner;
		const select = db
			.select({
				user: { id: users.id, is_active: users.is_active },
				level: members.level,
				one: sql<number>`1`.as("one"),
				half: sql`'0.5'`.mapWith(Number).as("half"),
				missing: sql<null>`null`.as("missing"),
			})
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(eq(members.user_id, sql.placeholder("id")));
		const cached = new CachedStatement(select);
		const [[row]] = await db.batch([cached.bind(connected, { id })]);
		expect(JSON.stringify(row)).toBe(
			JSON.stringify({
				user: { id, is_active: true },
				level: 15,
				one: 1,
				half: 0.5,
				missing: null,
			}),
		);
	});

	test("reads objects that are missing as Drizzle does", async () => {
		const { id } = await person();
		const select = db
			.select({ id: users.id, member: { level: members.level, joined_at: members.joined_at } })
			.from(users)
			.leftJoin(members, eq(members.user_id, users.id))
			.where(eq(users.id, sql.placeholder("id")));
		const cached = new CachedStatement(select);
		const [[row]] = await db.batch([cached.bind(connected, { id })]);
		expect(row).toEqual({ id, member: null });
	});

	test("can't have a time or an id that was made when it was built", () => {
		const change = db.update(members).set({ level: 1 });
		expect(() => new CachedStatement(change)).toThrow("can't contain the value");
		expect(() => new CachedStatement(change.where(eq(members.id, v7())))).toThrow(
			"can't contain the value",
		);
		const insertion = db.insert(domains).values({
			id: sql.placeholder("id"),
			organization_id: sql.placeholder("organization"),
			domain: sql.placeholder("domain"),
			verification_challenge: sql.placeholder("challenge"),
		});
		expect(() => new CachedStatement(insertion)).toThrow("can't contain the value");
	});
});
