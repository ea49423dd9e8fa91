/**
 * `npm run slowest`: the slowest test files and tests of the last run, with what they spent their
 * time on. The results are those of vitest's JSON reporter (docs/internals/testing.md).
 */
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import * as z from "zod";
import { fail } from "../build/run.ts";

/** The results of the last run, with the time of each file and test. */
export const RESULTS = "node_modules/.cache/tests.json";

const SHOWN = 30;

/** Times are in milliseconds. */
const Results = z.object({
	testResults: z.array(
		z.object({
			name: z.string(),
			startTime: z.number(),
			endTime: z.number(),
			assertionResults: z.array(
				z.object({
					fullName: z.string(),
					duration: z.number().nullish(),
					meta: z.object({ requests: z.number().default(0), waiting: z.number().default(0) }),
				}),
			),
		}),
	),
});

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

/** Returns the files of the last run, each with its tests. */
function readFiles() {
	return Results.parse(JSON.parse(readFileSync(RESULTS, "utf8"))).testResults.map(
		({ name, startTime, endTime, assertionResults }) => {
			const file = relative(process.cwd(), name);
			const tests = assertionResults.map(({ fullName, duration, meta }) => ({
				name: `${file} ${fullName}`,
				all: duration ?? 0,
				...meta,
			}));
			const all = endTime - startTime;
			return {
				tests,
				name: `${file} (${tests.length})`,
				all,
				setup: Math.max(0, all - sum(tests.map((test) => test.all))),
				requests: sum(tests.map(({ requests }) => requests)),
				waiting: sum(tests.map(({ waiting }) => waiting)),
			};
		},
	);
}

type Timed = { name: string; all: number; setup?: number; requests: number; waiting: number };

const seconds = (milliseconds = 0) => (milliseconds / 1000).toFixed(1).padStart(9);

/** Prints the slowest of files or tests, and the share of the time that they take. */
function print(title: string, timed: Timed[]) {
	const slowest = timed.toSorted((a, b) => b.all - a.all).slice(0, SHOWN);
	const total = sum(timed.map(({ all }) => all));
	const share = sum(slowest.map(({ all }) => all)) / total;
	console.log(
		`\nThe slowest ${slowest.length} of ${timed.length} ${title}: ${Math.round(100 * share)} % of ${Math.round(total / 1000)} s`,
	);
	console.log(["all", "setup", "requests", "waiting"].map((name) => name.padStart(9)).join(""));
	for (const { name, all, setup, requests, waiting } of slowest)
		console.log(`${[all, setup, requests, waiting].map(seconds).join("")}  ${name}`);
}

if (import.meta.main) {
	if (!existsSync(RESULTS))
		fail("There are no results yet. Run npm test or npm run test:all first.");
	const files = readFiles();
	print("files", files);
	print(
		"tests",
		files.flatMap(({ tests }) => tests),
	);
}
