import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../src/db/event_types.ts";

test("docs/events.md lists the types of all events, in the order of the code, and says when each happens", () => {
	const page = readFileSync(`${import.meta.dirname}/../../docs/events.md`, "utf8");
	const [, table = ""] = page.split("## Types");
	const rows = Array.from(table.matchAll(/^\| `(\S+)` \| ([^|]+) \| ([^|]*)\|$/gm));
	expect(rows.map(([, type]) => type)).toEqual(EVENT_TYPES);
	for (const [row, , when = ""] of rows) expect(when.trim().length, row).toBeGreaterThan(10);
});
