import type { Step } from "./destination.ts";

/** The timeout of a test. It is shorter than the timeout of a run, because a user is waiting for the response. */
export const TEST_TIMEOUT_MS = 10_000;

/** In characters. */
const MAX_ERROR_LENGTH = 2000;

/** Runs the steps in order, up to the first one that fails. */
export async function runSteps(steps: Record<string, () => Promise<unknown>>): Promise<Step[]> {
	const results: Step[] = [];
	for (const [name, step] of Object.entries(steps)) {
		const error = await step().then(
			() => null,
			(error: unknown) => (error instanceof Error ? error.message : String(error)),
		);
		results.push({ name, error });
		if (error !== null) break;
	}
	return results;
}

/** Returns the response to a test. */
export const testResult = (steps: Step[]) => ({
	success: steps.every(({ error }) => error === null),
	steps: steps.map(({ name, error }) => ({
		name,
		error: error === null ? null : error.slice(0, MAX_ERROR_LENGTH),
	})),
});
