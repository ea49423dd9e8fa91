import { parseArgs } from "node:util";
import { OPERATIONS } from "./operations.ts";

/** What can be measured alone, with `--only`. */
const PARTS = [
	...OPERATIONS,
	"distance",
	"growth",
	"start",
	"memory",
	"simulators",
	"profile",
] as const;

export type Part = (typeof PARTS)[number];

export type Options = {
	parts: Set<Part>;
	/** How often everything that is compared takes its turn. */
	rounds: number;
	/** Rows of the longest list. */
	sizes: number[];
	/** Milliseconds that a round trip to D1 takes longer. */
	distances: number[];
	/** Requests for the memory. */
	requests: number;
};

/**
 * Reads the words of the command line.
 * @throws if they are wrong
 */
export function readOptions(words: string[]): Options {
	const { values } = parseArgs({
		args: words,
		options: {
			only: { type: "string", default: PARTS.join(",") },
			rounds: { type: "string" },
			quick: { type: "boolean", default: false },
		},
	});
	const names = values.only.split(",");
	const unknown = names.filter((name) => !PARTS.some((part) => part === name));
	if (unknown.length > 0)
		throw new Error(`Unknown: ${unknown.join(", ")}. There are: ${PARTS.join(", ")}.`);
	const rounds = Number(values.rounds ?? (values.quick ? 10 : 50));
	if (!Number.isInteger(rounds) || rounds < 1)
		throw new Error("--rounds takes a positive integer.");
	return {
		parts: new Set(PARTS.filter((part) => names.includes(part))),
		rounds,
		sizes: values.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000],
		distances: values.quick ? [100] : [20, 100, 250],
		requests: values.quick ? 5_000 : 50_000,
	};
}
