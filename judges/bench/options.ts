import { parseArgs } from "node:util";
import { OPERATIONS } from "./operations.ts";

/** The parts of the table, for `--only`. */
const PARTS = [
	...OPERATIONS,
	"distance",
	"cost",
	"growth",
	"start",
	"memory",
	"simulators",
	"profile",
] as const;

type Part = (typeof PARTS)[number];

type Options = {
	parts: Set<Part>;
	/** The number of rounds. */
	rounds: number;
	/** The lengths of lists for `growth`, in rows. */
	sizes: number[];
	/** Delays of round trips to D1 for `distance`, in milliseconds. */
	distances: number[];
	/** Requests for `memory`. */
	requests: number;
};

/**
 * Parses the arguments of the command line.
 * @throws if an argument is invalid
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
		throw new Error(
			`Unknown parts in --only: ${unknown.join(", ")}. Known parts: ${PARTS.join(", ")}.`,
		);
	const rounds = Number(values.rounds ?? (values.quick ? 10 : 50));
	if (!Number.isInteger(rounds) || rounds < 1)
		throw new Error("--rounds must be a positive integer.");
	return {
		parts: new Set(PARTS.filter((part) => names.includes(part))),
		rounds,
		sizes: values.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000],
		distances: values.quick ? [100] : [20, 100, 250],
		requests: values.quick ? 5_000 : 50_000,
	};
}
