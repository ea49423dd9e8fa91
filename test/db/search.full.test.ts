import { and, desc, eq, gt, sql } from "drizzle-orm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { entryId } from "../../src/db/entries.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { organizationId } from "../../src/db/schema/organizations.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { FAMILIES } from "../../src/plugins/plugins/families.ts";
import { insertLog } from "../support/activity.ts";
import { needles } from "../support/search_texts.ts";
import { db, furnished, join } from "../support/world.ts";
import { testSearches } from "./search.ts";

testSearches(needles(30));

/** What a step of the test below does to one of the plugins. */
const STEPS = ["change it", "change it", "add entries", "delete entries", "delete it"] as const;

test("entries are in the lists of the families that their plugin has now", async () => {
	const home = await furnished();
	const { here, id, owner } = home;
	const admin = await join(id, 8);
	let entries = 0;
	const log = (plugin: number, n: number) =>
		insertLog(
			...Array.from({ length: n }, (_, i) => {
				entries += 1;
				return {
					organization_id: home.organization_id,
					user_id: i % 3 ? owner.id : admin.id,
					activity: i % 2 ? "updated" : "upgraded",
					scope: "Plugin",
					item_id: String(plugin),
					created_at: new Date(Date.UTC(2026, 0, 1, 0, entries)).toISOString(),
				};
			}),
		);
	const rows = await db
		.insert(plugins)
		.values(
			Array.from({ length: 6 }, () => ({
				organization_id: organizationId(id),
				plugin_type: "source",
				capabilities: {},
			})),
		)
		.returning({ id: plugins.id });
	const ids = rows.map(({ id }) => id);
	const [many = 0] = ids;
	await log(many, 250);
	const FILTERS = ["", "activity=upgraded", `user=${admin.uuid}`, "after=2026-01-01T00:30:00Z"];

	/** The ids of the family's entries that match, as a scan of the log finds them. */
	const scan = async (bit: number, filter: string) => {
		const given = Object.fromEntries(new URLSearchParams(filter));
		const found = await db
			.select({ id: entryId.as("entry_id") })
			.from(activityLog)
			.innerJoin(plugins, sql`${plugins.id} = cast(${activityLog.item_id} as integer)`)
			.where(
				and(
					eq(activityLog.organization_id, organizationId(id)),
					eq(activityLog.scope, "Plugin"),
					sql`${plugins.families} & ${bit}`,
					given.activity ? eq(activityLog.activity, given.activity) : undefined,
					given.user ? eq(activityLog.user_id, admin.id) : undefined,
					given.after ? gt(activityLog.created_at, "2026-01-01T00:30:00.000Z") : undefined,
				),
			)
			.orderBy(desc(activityLog.position));
		return found.map(({ id }) => id);
	};

	const capabilities = fc.record(
		{
			methods: fc.subarray(["onEvent", "processEvent"]),
			scheduled_tasks: fc.subarray(["runEveryHour"]),
		},
		{ requiredKeys: [] },
	);
	const step = fc.tuple(fc.constantFrom(...STEPS), fc.constantFrom(...ids), capabilities);
	const steps = fc.sample(step, { numRuns: 20, seed: 3 });
	for (const [at, [name, plugin, capabilities]] of steps.entries()) {
		const path = `/pipeline_destinations/${plugin}`;
		if (name === "change it") await here("PATCH", path, { body: { capabilities } });
		if (name === "add entries") await log(plugin, 5);
		if (name === "delete entries")
			await db.run(sql`delete from activity_log where position in (
				select position from activity_log where item_id = ${String(plugin)} order by position limit 20)`);
		if (name === "delete it" && plugin !== many) await here("DELETE", path);
		for (const [i, family] of FAMILIES.entries()) {
			const filter = FILTERS[(at + i) % FILTERS.length] ?? "";
			const { body } = await here("GET", `/${family}/activity?limit=1000&${filter}`);
			const found = body.results.map(({ id }: { id: string }) => id);
			const expected = await scan(1 << i, filter);
			expect({ name, family, filter, found }).toEqual({ name, family, filter, found: expected });
			expect(body.count).toBe(found.length);
		}
	}
});
