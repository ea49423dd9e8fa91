import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test } from "vitest";
import { activityLog, domains, idempotencyKeys, personalApiKeys } from "../../src/db/schema.ts";
import { deleteExpiredKeys } from "../../src/tenant/idempotency.ts";
import { address, guarded } from "../support/routes.ts";
import { eventually } from "../support/time.ts";
import { call, cost, db, furnished, join, keyFor, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;
type Options = NonNullable<Parameters<typeof call>[2]>;

const posts = guarded.filter(({ method }) => method === "POST");

/** Sends a POST with an Idempotency-Key. */
const post = (home: Pick<Home, "ask">, path: string, key: string, options: Options = {}) =>
	home.ask("POST", path, {
		...options,
		headers: { "idempotency-key": key, ...options.headers },
	});

/** Repeats a request until its first response has been kept. */
const replayed = (send: () => ReturnType<typeof call>) =>
	eventually(async () => {
		const response = await send();
		expect(response.headers.get("idempotency-replayed")).toBe("true");
		return response;
	});

const entriesOf = ({ owner }: Pick<Home, "owner">) =>
	db.select().from(activityLog).where(eq(activityLog.user_id, owner.id));

const rowsOf = ({ owner }: Pick<Home, "owner">) =>
	db.select().from(idempotencyKeys).where(eq(idempotencyKeys.user_id, owner.id));

/** The tests' D1, whose second batch is written, but never returns. */
function killing() {
	const { promise: written, resolve } = Promise.withResolvers<void>();
	let trips = 0;
	const withSession = (start: string) => {
		const session = env.DB.withSession(start);
		const batch = async (statements: D1PreparedStatement[]) => {
			trips += 1;
			const results = await session.batch(statements);
			if (trips < 2) return results;
			resolve();
			return new Promise(() => {});
		};
		const prepare = (query: string) => session.prepare(query);
		return { prepare, batch, getBookmark: () => session.getBookmark() };
	};
	const DB: D1Database = Object.assign(Object.create(env.DB), { withSession });
	return { env: { DB }, written };
}

describe.each(posts.map((route) => [route.path, route] as const))("POST %s", (_, route) => {
	let home: Home;
	let send: (options?: Options) => ReturnType<typeof call>;
	beforeEach(async () => {
		home = await furnished();
		const body = route.body?.(home);
		send = (options) =>
			post(home, address(route.path, home), "a key", {
				...(body !== undefined && { body }),
				...options,
			});
	});

	test("that is repeated with its Idempotency-Key gets the first response, in one round trip, and changes nothing", async () => {
		const first = await send();
		expect(first.headers.has("idempotency-replayed")).toBe(false);
		expect(cost(first).trips).toBeLessThanOrEqual(2);
		const entries = await entriesOf(home);
		if (route.fails) {
			expect((await send()).headers.has("idempotency-replayed")).toBe(false);
			expect(await rowsOf(home)).toEqual([]);
			return;
		}
		const again = await replayed(send);
		expect([again.status, again.body]).toEqual([first.status, first.body]);
		for (const name of ["content-type", "content-length", "link"])
			expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
		expect(cost(again).trips).toBe(1);
		expect(await entriesOf(home)).toEqual(entries);
	});

	test("that is killed after its change is answered when it is repeated, and changes nothing again", async () => {
		const dying = killing();
		const outcome = await Promise.race([
			dying.written,
			send({ env: dying.env }).catch((error: unknown) => error),
		]);
		// Nothing was to be written.
		if (outcome !== undefined) return;
		const entries = await entriesOf(home);
		const early = await send();
		expect([early.status, early.body.code]).toEqual([409, "idempotency_key_in_use"]);
		expect(early.headers.get("retry-after")).toBe("1");
		await db.update(idempotencyKeys).set({ under_way_until: new Date(0).toISOString() });
		const answer = await send();
		expect(answer.status).toBe(route.path.endsWith("/test") ? 200 : answer.status);
		expect(answer.status).toBeLessThan(300);
		expect(await entriesOf(home)).toEqual(entries);
		const again = await replayed(send);
		expect([again.status, again.body]).toEqual([answer.status, answer.body]);
		expect(await entriesOf(home)).toEqual(entries);
	});
});
