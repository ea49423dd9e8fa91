import type { Step } from "./destination.ts";

/** Runs the steps in order, up to the first that fails. */
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
