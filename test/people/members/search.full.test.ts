import { and, eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { contains } from "../../../src/db/contains.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { members, users } from "../../../src/db/schema/people.ts";
import { needles, text } from "../../support/search_texts.ts";
import { db, join, times, world } from "../../support/world.ts";

const PEOPLE = 60;

let home: Awaited<ReturnType<typeof world>>;

beforeAll(async () => {
	home = await world();
	const stranger = await world();
	const names = fc.sample(fc.tuple(text(8), text(8)), { numRuns: PEOPLE, seed: 7 });
	const people = await Promise.all(names.map(() => join(home.id, 1)));
	await times(PEOPLE, (i) => {
		const [first_name = "", last_name = ""] = names[i] ?? [];
		return db
			.update(users)
			.set({ first_name, last_name })
			.where(eq(users.id, people[i]?.id ?? 0));
	});
	// The same names in another organization, which no search here may find.
	await times(PEOPLE, (i) =>
		db.insert(members).values({
			organization_id: organizationId(stranger.id),
			user_id: people[i]?.id ?? 0,
			level: 1,
		}),
	);
});

/** The ids of the members that a scan of all finds. */
async function scan(needle: string) {
	const name = sql`${users.first_name} || ' ' || ${users.last_name} || ' ' || ${users.email}`;
	const rows = await db
		.select({ id: members.id })
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.where(
			and(
				eq(members.organization_id, organizationId(home.id)),
				eq(users.is_active, true),
				contains(name, needle),
			),
		);
	return rows.map(({ id }) => id).toSorted();
}

async function search(needle: string) {
	const { body } = await home.here("GET", `/members?search=${encodeURIComponent(needle)}`);
	const ids = body.results.map(({ id }: { id: string }) => id);
	expect(body.count).toBe(ids.length);
	return ids.toSorted();
}

test("a search finds what a scan of all members finds, whatever the letters", async () => {
	let found = 0;
	for (const needle of needles(200)) {
		const expected = await scan(needle);
		expect([needle, await search(needle)]).toEqual([needle, expected]);
		found += expected.length;
	}
	expect(found).toBeGreaterThan(PEOPLE);
});
