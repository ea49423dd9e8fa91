import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { CachedStatement, placeholder } from "../../src/db/cached_statements.ts";
import { users } from "../../src/db/schema/users.ts";
import { jsonOf, rowsOf } from "../../src/db/snapshot.ts";
import { db, person } from "../support/world.ts";

test("the stored rows of a cached select are read like the rows of D1", async () => {
	const { id } = await person();
	const select = (user: number | ReturnType<typeof placeholder<number>>) =>
		db
			.select({
				id: users.id,
				email: users.email,
				is_active: users.is_active,
				mascot_config: users.mascot_config,
			})
			.from(users)
			.where(sql`${users.id} = ${user}`);
	const statement = new CachedStatement(select(placeholder<number>("user"))).bind(
		db,
		{ user: id },
		() => select(id),
	);
	const [read, [stored]] = await db.batch([
		statement,
		db.select({ rows: jsonOf(statement).as("rows") }).from(sql`(select 1)`),
	]);
	expect(read).toMatchObject([{ id, is_active: true, mascot_config: {} }]);
	const results = rowsOf(stored?.rows ?? "", statement);
	const answer = await env.DB.prepare("select 1").run();
	vi.spyOn(env.DB, "batch").mockResolvedValueOnce([{ ...answer, results }]);
	expect(await db.batch([statement])).toEqual([read]);
});
