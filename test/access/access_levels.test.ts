import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { type Levels, levelIn, levelOf, mayView } from "../../src/access/access_levels.ts";
import { db } from "../support/world.ts";

const X = "batch_export:x";
const ALL = "batch_export";

test.each<[own: Levels, everyone: Levels, level: number]>([
	[{}, {}, 3],
	[{}, { [ALL]: 1 }, 1],
	[{ [ALL]: 2 }, { [ALL]: 1 }, 2],
	[{ [ALL]: 1 }, { [ALL]: 4 }, 1],
	[{ [ALL]: 4 }, { [X]: 1 }, 1],
	[{ [X]: 0, [ALL]: 4 }, { [X]: 4 }, 0],
	[{ [X]: 2 }, {}, 2],
	[{ "batch_export:y": 0 }, {}, 3],
	[{ "*": 1 }, { [X]: 0, [ALL]: 4 }, 1],
	[{ "*": 1, [ALL]: 2 }, { [ALL]: 0 }, 2],
	[{ "*": 1, [X]: 0, [ALL]: 2 }, {}, 1],
	[{ "*": 4 }, { [X]: 0 }, 4],
	[{ plugin: 0 }, { project: 0 }, 3],
])("own %j and everyone's %j give %i, in SQL too", async (own, everyone, level) => {
	expect(levelOf({ own, everyone }, { resource: "batch_export", id: "x" })).toBe(level);
	const terms = {
		own: sql`own`,
		everyone: sql`everyone`,
		resource: "batch_export" as const,
		id: sql`'x'`,
	};
	const [row] = await db
		.select({ level: levelIn(terms).as("level"), seen: mayView(terms).as("seen") })
		.from(sql`(select ${JSON.stringify(own)} as own, ${JSON.stringify(everyone)} as everyone)`);
	expect(row).toEqual({ level, seen: Number(level >= 1) });
});
