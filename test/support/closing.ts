import type { Reporter } from "vitest/node";
import { leftOut } from "./quiet.ts";

/** Ends a run with one plain line: how many tests passed, failed and were skipped. */
export const closing: Reporter = {
	onTestRunEnd(modules, errors) {
		const states = modules.flatMap((module) =>
			[...module.children.allTests()].map((test) => test.result().state),
		);
		const n = (state: string) => states.filter((one) => one === state).length;
		const broken = modules.filter(
			(module) =>
				module.state() === "failed" && [...module.children.allTests("failed")].length === 0,
		);
		if (leftOut()) console.log(leftOut());
		console.log(
			`${n("passed")} passed, ${n("failed") + broken.length + errors.length} failed, ${n("skipped")} skipped`,
		);
	},
};
