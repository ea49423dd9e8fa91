import type { Reporter } from "vitest/node";
import { hiddenMessages } from "./quiet.ts";

/** Prints one line at the end of a run: how many tests passed, failed and were skipped. */
export const summary: Reporter = {
	onTestRunEnd(modules, errors) {
		const states = modules.flatMap((module) =>
			[...module.children.allTests()].map((test) => {
				const { state } = test.result();
				// Tests that a failed hook left out weren't skipped on purpose.
				return state === "skipped" && test.options.mode === "run" ? "failed" : state;
			}),
		);
		const count = (state: string) => states.filter((item) => item === state).length;
		const brokenModules = modules.filter(
			(module) =>
				module.state() === "failed" && [...module.children.allTests("failed")].length === 0,
		);
		if (hiddenMessages()) console.log(hiddenMessages());
		console.log(
			`${count("passed")} passed, ${count("failed") + brokenModules.length + errors.length} failed, ${count("skipped")} skipped`,
		);
	},
};
