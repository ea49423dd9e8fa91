import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { listPaths } from "./growth.ts";
import { LISTS } from "./lists.ts";
import { readOptions } from "./options.ts";
import { figureOf, lowerMean, toMarkdown } from "./table.ts";

test("every list of the API is measured, with each of its filters", () => {
	expect(Object.keys(LISTS).sort()).toEqual(Object.keys(listPaths()).sort());
	const document = z
		.object({
			paths: z.record(
				z.string(),
				z.object({
					get: z
						.object({ parameters: z.array(z.object({ name: z.string(), in: z.string() })) })
						.optional(),
				}),
			),
		})
		.parse(JSON.parse(readFileSync(`${import.meta.dirname}/../../public/openapi.json`, "utf8")));
	/** A list below an organization and below a project is the same. */
	const shared = (path: string) => path.replace(/^\/api\/(organizations|projects)\/\{\w+\}/, "");
	const measured = new Set(
		Object.entries(listPaths()).flatMap(([operation, path]) =>
			["few" as const, "inside" as const, "most" as const]
				.flatMap((kind) => LISTS[operation]?.[kind] ?? [])
				.flatMap((query) =>
					[...new URLSearchParams(query).keys()].map((name) => `${shared(path)}?${name}`),
				),
		),
	);
	for (const path of Object.values(listPaths()))
		for (const parameter of document.paths[path]?.get?.parameters ?? [])
			if (parameter.in === "query" && !["limit", "offset", "cursor"].includes(parameter.name))
				expect([...measured]).toContain(`${shared(path)}?${parameter.name}`);
});

test("the options choose what is measured", () => {
	expect([...readOptions(["--only", "list,growth", "--rounds", "2"]).parts]).toEqual([
		"list",
		"growth",
	]);
	expect(readOptions(["--only", "list", "--rounds", "2"]).rounds).toBe(2);
	expect(readOptions(["--quick"]).sizes).not.toContain(100_000);
	expect(() => readOptions(["--only", "lists"])).toThrow("lists");
	expect(() => readOptions(["--rounds", "0"])).toThrow("positive");
});

test("the table has a column for each service that was measured, and no others", () => {
	const lines = [
		{ title: "One", cells: { tenantry: "1", floor: "0.5" } },
		{ title: "Two", cells: { tenantry: "2" } },
	];
	expect(toMarkdown([{ title: "One", cells: { tenantry: "1" }, goal: "2" }])).toBe(
		"|  | Tenantry | Goal |\n|---|---|---|\n| One | 1 | 2 |",
	);
	expect(toMarkdown(lines)).toBe(
		"|  | Tenantry | handwritten |\n|---|---|---|\n| One | 1 | 0.5 |\n| Two | 2 |  |",
	);
});

test("a figure is of the faster half of the rounds, and shows how far two halves of all rounds are apart", () => {
	expect(lowerMean([4, 1, 9, 2, 8])).toBe((1 + 2 + 4) / 3);
	expect(figureOf([1, 5, 3, 7], lowerMean)).toBe("2.00 (1.00, 5.00)");
	expect(figureOf([2], lowerMean)).toBe("2.00");
});
