import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import { MAX_ATTEMPTS } from "./retries.ts";
import type { Turn } from "./run.ts";
import type { RunLease } from "./start_runs.ts";

/** The steps of an instance. Cloudflare allows 10,000 (1,024 on the free plan), without sleeps. */
const MAX_STEPS = 1000;

/** For steps that throw, because the database doesn't respond or the isolate has ended. */
const STEP = {
	retries: { limit: MAX_ATTEMPTS - 1, delay: "5 seconds", backoff: "exponential" },
	timeout: "30 minutes",
} as const;

/**
 * Executes a run, then the waiting runs of the same series (one backfill or one schedule). All
 * state between two steps is in D1. No instance starts another one: the local server would run it
 * nested in this one, and stops working at a nesting of about fifty.
 */
export class ExportRun extends WorkflowEntrypoint<Env, RunLease> {
	override async run({ payload }: WorkflowEvent<RunLease>, step: WorkflowStep) {
		// The engine is loaded here, so that requests to the API don't wait for it.
		const { giveUp, release, runSeries } = await import("./run.ts");
		let turn: Turn | null = { ...payload, wait_ms: 0 };
		for (let n = 1; turn !== null && n <= MAX_STEPS; n += 1) {
			const current: Turn = turn;
			if (current.wait_ms > 0) await step.sleep(`wait before part ${n}`, current.wait_ms);
			try {
				turn = await step.do(`part ${n}`, STEP, () => runSeries(this.env, current));
			} catch (error) {
				turn = await step.do(`give up part ${n}`, STEP, () => giveUp(this.env, current, error));
			}
		}
		const rest = turn;
		if (rest) await step.do("leave to the schedule", STEP, () => release(this.env, rest));
	}
}
