/** The examples of operations that judges/examples/main.ts has recorded. */
import * as z from "zod";
import recorded from "./examples.json" with { type: "json" };
import type { Json } from "./schemas.ts";

const Example = z.object({
	parameters: z.record(z.string(), z.unknown()),
	body: z.unknown().optional(),
	answer: z.unknown().optional(),
	errors: z.record(z.string(), z.unknown()),
});

const { operations, errors } = z
	.object({
		operations: z.record(z.string(), Example),
		errors: z.record(z.string(), z.unknown()),
	})
	.parse(recorded);

/** Examples of errors by status, for responses that many operations share. */
const commonErrors: Record<string, unknown> = Object.assign(
	{},
	...Object.values(operations).map((example) => example.errors),
	errors,
);

/** Returns the member `example` of a parameter or a media type; empty if there is none. */
const exampleOf = (value: unknown) => (value === undefined ? {} : { example: value });

/** Returns the recorded value of a parameter, converted to the type in its schema. */
export function parameterExample(
	operation: string,
	{ name, schema }: { name: string; schema: Json },
) {
	const value = operations[operation]?.parameters[name];
	if (value === undefined) return {};
	if (schema.type === "array") return { example: [value] };
	return { example: schema.type === "string" ? String(value) : value };
}

export const bodyExample = (operation: string) => exampleOf(operations[operation]?.body);

export const answerExample = (operation: string) => exampleOf(operations[operation]?.answer);

/** Returns a recorded error of the operation, or a common one. */
export const errorExample = (operation: string, status: number) =>
	exampleOf(status === 400 ? operations[operation]?.errors[status] : commonErrors[status]);
