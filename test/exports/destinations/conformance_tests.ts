import { describe, expect, test } from "vitest";
import { ADAPTERS } from "./adapters.ts";
import { CASES, type Tested } from "./conformance.ts";

/** Runs the cases that apply to a type. */
export const testConformance = (type: Tested) =>
	describe(type, () => {
		const adapter = ADAPTERS[type];
		const cases = CASES.filter(({ appliesTo = () => true }) => appliesTo(adapter));
		for (const { name, run } of cases)
			test(name, async ({ skip }) => {
				const missing = await adapter.start();
				if (missing) skip(missing);
				await expect(run(adapter, type)).resolves.toBeUndefined();
			});
	});
