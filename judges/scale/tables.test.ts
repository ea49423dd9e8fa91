import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { EVENT_BYTES, KEPT } from "./assumptions.ts";
import { migrated, sizes } from "./sizes.ts";
import { tables } from "./tables.ts";

const page = readFileSync(`${import.meta.dirname}/../../docs/internals/scale.md`, "utf8");

describe("scale.md has what `npm run scale` prints:", () => {
	test.each(Object.entries(tables()))("%s", (_, table) => {
		expect({ table, isThere: page.includes(table) }).toEqual({ table, isThere: true });
	});
});

test("rows are as large as the page says, within a tenth", () => {
	const measured = sizes(migrated(new DatabaseSync(":memory:")));
	const said: Record<string, { bytes: number }> = { ...KEPT, event: { bytes: EVENT_BYTES } };
	expect(Object.keys(measured).sort()).toEqual(Object.keys(said).sort());
	for (const [name, bytes] of Object.entries(measured)) {
		const ratio = bytes / (said[name]?.bytes ?? 0);
		expect({ name, bytes, isRight: ratio > 0.9 && ratio < 1.1 }).toMatchObject({ isRight: true });
	}
});
