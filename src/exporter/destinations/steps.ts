import type { Step } from "./destination.ts";

/** Does one thing after the other, until one fails. */
export async function runSteps(things: Record<string, () => Promise<unknown>>): Promise<Step[]> {
	const steps: Step[] = [];
	for (const [name, thing] of Object.entries(things)) {
		const error = await thing().then(
			() => null,
			(error: unknown) => (error instanceof Error ? error.message : String(error)),
		);
		steps.push({ name, error });
		if (error !== null) break;
	}
	return steps;
}
