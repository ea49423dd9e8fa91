import { expect, test } from "vitest";
import { like } from "../../../src/exports/engine/like.ts";
import { testQueries } from "./queries.ts";

testQueries(1000);

test("LIKE needs a bounded number of steps, however long a text and a pattern are", () => {
	// The product of both lengths would be too much.
	const text = "a".repeat(500_000);
	expect(like(`%${"a".repeat(50_000)}b`)(text)).toBe(false);
	expect(like(`%${"a".repeat(50_000)}_%`)(text)).toBe(true);
});
