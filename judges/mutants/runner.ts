/**
 * Runs tests against changed files, in a process of its own that can be killed if a change makes
 * them hang. A changed file only exists in the memory of this process.
 */
import { realpathSync } from "node:fs";
import { createVitest, type TestRunResult, type TestSpecification, type Vite } from "vitest/node";
import { Task } from "./messages.ts";

/**
 * Shorter limits than those of test/support/hang.ts, because most tests that wait for a broken
 * worker wait in vain.
 */
const TEST_TIMEOUT_MS = 180_000;
const HANG_MS = 60_000;
const LOCAL_HANG_MS = 60_000;

const root = realpathSync(`${import.meta.dirname}/../..`);

const files = new Map<string, string>();

/** Serves the content of `files` instead of that on disk. */
const inMemory: Vite.Plugin = {
	name: "mutants",
	enforce: "pre",
	load: (id) => files.get(id.split("?")[0] ?? ""),
};

/** The projects of quick tests, and those of the others. No change needs a console or a command. */
const LEVELS = [["unit", "worker"], ["full-worker"]];

const { default: config } = await import("../../vitest.config.ts");
const projects = (config.test?.projects ?? []).flatMap((project) =>
	typeof project === "object" &&
	"test" in project &&
	LEVELS.flat().includes(String(project.test?.name))
		? [
				{
					...project,
					plugins: [inMemory, ...("plugins" in project ? (project.plugins ?? []) : [])],
					test: {
						...project.test,
						// The cache knows files by what is on disk.
						fsModuleCache: false,
						testTimeout: TEST_TIMEOUT_MS,
						hookTimeout: TEST_TIMEOUT_MS,
					},
				},
			]
		: [],
);

files.set(
	`${root}/test/support/hang.ts`,
	`export const TEST_TIMEOUT_MS = ${TEST_TIMEOUT_MS};
export const HANG_MS = ${HANG_MS};
export const LOCAL_HANG_MS = ${LOCAL_HANG_MS};
`,
);

const vitest = await createVitest(
	{ root, config: false, watch: false, bail: 1, maxWorkers: 1, silent: true, reporters: [] },
	{ ...config, logLevel: "error", test: { ...config.test, projects } },
);

/**
 * Returns the first failure of a run; null if there is none. The result also has the test files of
 * earlier runs.
 */
function failureOf(
	{ testModules, unhandledErrors }: TestRunResult,
	specifications: TestSpecification[],
) {
	const ids = specifications.map(({ moduleId }) => moduleId);
	for (const module of testModules.filter(({ moduleId }) => ids.includes(moduleId))) {
		for (const test of module.children.allTests("failed"))
			return `${module.relativeModuleId}: ${test.fullName}`;
		if (!module.ok()) return module.relativeModuleId;
	}
	return unhandledErrors.length > 0 ? "an error outside of tests" : null;
}

/** Returns the first failure; null if there is none. The quick tests of all groups run first. */
async function run(tests: string[][]) {
	for (const level of LEVELS)
		for (const filters of tests) {
			const specifications = (await vitest.getRelevantTestSpecifications(filters)).filter(
				({ project }) => level.includes(project.name),
			);
			if (specifications.length === 0) continue;
			const failed = failureOf(await vitest.runTestSpecifications(specifications), specifications);
			if (failed) return failed;
		}
	return null;
}

process.on("message", async (message) => {
	const { tests, file, code } = Task.parse(message);
	if (file !== undefined && code !== undefined) {
		files.set(file, code);
		vitest.invalidateFile(file);
	}
	const failed = await run(tests);
	if (file !== undefined) {
		files.delete(file);
		vitest.invalidateFile(file);
	}
	process.send?.({ failed });
});
process.on("disconnect", () => process.exit());
process.send?.({ failed: null });
