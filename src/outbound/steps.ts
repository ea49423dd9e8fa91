import * as z from "zod";
import { reason } from "./errors.ts";

/** A step of a test. `error` is null if it succeeded. */
export type Step = { name: string; error: string | null; warning?: string };

/** Shorter than the timeout of a run, because a user is waiting for the response. */
export const TEST_TIMEOUT_MS = 10_000;

/** Returns what to do about the object of a test that couldn't be removed. */
export const stillThere = (key: string) => `The object is still there, remove it: ${key}`;

/** The result of a step that succeeded, but about which the user should know something. */
export class Warning {
	readonly message: string;

	constructor(message: string) {
		this.message = message;
	}
}

/** Returns what a step warns of; undefined if there is nothing. */
export const warningOf = (messages: string[]) =>
	messages.length > 0 ? new Warning(messages.join(" ")) : undefined;

/** Runs the steps in order, up to the first one that fails. */
export async function runSteps(steps: Record<string, () => Promise<unknown>>): Promise<Step[]> {
	const results: Step[] = [];
	for (const [name, step] of Object.entries(steps)) {
		const result = await step().then(
			(value): Step => ({
				name,
				error: null,
				...(value instanceof Warning && { warning: value.message }),
			}),
			(error: unknown): Step => ({ name, error: reason(error) }),
		);
		results.push(result);
		if (result.error !== null) break;
	}
	return results;
}

/** The result of a test in a response. */
export const TestResult = z
	.object({
		success: z.boolean().describe("Whether every step succeeded."),
		steps: z
			.array(
				z.object({
					name: z.string().describe("The name of the step."),
					error: z.string().nullable().describe("Why the step failed; null if it succeeded."),
					warning: z
						.string()
						.nullable()
						.describe(
							"What you should know although the step succeeded, such as a table in which retries can repeat rows; null if there is nothing.",
						),
				}),
			)
			.describe("The steps, up to the first that failed."),
	})
	.meta({ id: "BatchExportTrial" });

export const testResult = (steps: Step[]): z.infer<typeof TestResult> => ({
	success: steps.every(({ error }) => error === null),
	steps: steps.map(({ name, error, warning = null }) => ({ name, error, warning })),
});
