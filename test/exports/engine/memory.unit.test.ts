import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { evaluator } from "../../../src/exports/engine/evaluate.ts";
import { parse } from "../../../src/exports/query/query.ts";
import type { Row } from "../../../src/exports/query/rows.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const MIB = 2 ** 20;

test("what a query takes of a row doesn't keep the rest of it in memory", () => {
	const { fields, where } = parse("SELECT uuid FROM events WHERE properties.n >= 0");
	const evaluate = evaluator(["uuid", "properties"], fields, where);
	const kept: Row[] = [];
	collectGarbage();
	const before = process.memoryUsage().heapUsed;
	for (let n = 0; n < 1000; n += 1) {
		// As D1 answers it: one text, of which the values are parts.
		const text = Buffer.from(
			`${crypto.randomUUID()}\x7f${JSON.stringify({ n, padding: "x".repeat(50_000) })}`,
		).toString();
		kept.push(...evaluate([text.split("\x7f")]).rows);
	}
	collectGarbage();
	expect(kept).toHaveLength(1000);
	expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * MIB);
});
