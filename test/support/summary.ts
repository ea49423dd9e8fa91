import type { Reporter, TestCase } from "vitest/node";
import { hiddenMessages } from "./quiet.ts";

/** The state of a test. One that a failed hook left out has failed: it wasn't to be skipped. */
function stateOf(test: TestCase) {
	const { state } = test.result();
	return state === "skipped" && test.options.mode === "run" ? "failed" : state;
}

/** Prints one line at the end of a run: how many tests passed, failed and were skipped. */
export const summary: Reporter = {
	onTestRunEnd(modules, errors) {
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
