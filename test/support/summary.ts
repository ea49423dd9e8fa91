import { JsonReporter, type Reporter, type TestCase } from "vitest/node";
import { RESULTS } from "../../scripts/slowest.ts";
import { hiddenMessages } from "./quiet.ts";

/** The state of a test. One that a failed hook left out has failed: it wasn't to be skipped. */
function stateOf(test: TestCase) {
	const { state } = test.result();
	return state === "skipped" && test.options.mode === "run" ? "failed" : state;
}

const json = new JsonReporter({ outputFile: RESULTS });

/**
 * Writes the results, then prints one line: how many tests passed, failed and were skipped. One
 * reporter does both, so that the line is the last one.
 */
export const summary: Reporter = {
	onInit: (vitest) => json.onInit(vitest),
	async onTestRunEnd(modules, errors) {
		await json.onTestRunEnd(modules);
		const states = modules.flatMap((module) => {
			const own = Array.from(module.children.allTests(), stateOf);
			const isBroken = module.state() === "failed" && !own.includes("failed");
			return isBroken ? [...own, "failed"] : own;
		});
		const count = (state: string) => states.filter((item) => item === state).length;
		if (hiddenMessages()) console.log(hiddenMessages());
		console.log(
			`${count("passed")} passed, ${count("failed") + errors.length} failed, ${count("skipped")} skipped`,
		);
	},
};
