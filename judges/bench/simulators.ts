/**
 * Measures the share of the local simulators in the CPU time of a request: the handwritten worker
 * runs without each part.
 */
import { measure, sendMany } from "./load.ts";
import type { Service } from "./operations.ts";
import { figureOf, type Line, lowerMean, shuffled, tell } from "./table.ts";

/** Requests before the first measurement, and requests per measurement. */
const [WARM_UP, SLICE] = [400, 100];

/** Variants of the handwritten worker, which leave out some of its work. */
const VARIANTS = {
	limiter: "&without=limiter",
	held: "&without=held",
	nothing: "",
	headers: "&without=headers",
	d1: "&without=d1",
	batch: "&without=batch",
	all: "&without=limiter,d1",
} as const;

type Variant = keyof typeof VARIANTS;

/**
 * Measures the share of each simulator in the CPU time of listing members, for the handwritten
 * worker and for this service.
 */
export async function measureSimulators(
	floor: Service,
	service: Service,
	rounds: number,
): Promise<Line[]> {
	await sendMany(floor, "list", WARM_UP);
	await sendMany(service, "list", WARM_UP);
	/**
	 * Each part, with a function that computes its CPU time. `own` is the CPU time of the service,
	 * which the share refers to.
	 */
	const parts: [title: string, cost: (cpu: Record<Variant, number>, own: number) => number][] = [
		["rate limiter simulator", (cpu) => cpu.nothing - cpu.limiter],
		["one KV read, only in a key's first request", (cpu) => cpu.held - cpu.nothing],
		["one D1 statement, alone in a round trip", (cpu) => cpu.batch - cpu.d1],
		["the batch of guard, page and count", (cpu) => cpu.headers - cpu.d1],
		["D1 session, ETag and headers", (cpu) => cpu.nothing - cpu.headers],
		["HTTP and the rest of a request", (cpu) => cpu.all],
		[
			"the remainder: the service's own code",
			(cpu, own) => own - cpu.all - (2 * cpu.nothing - cpu.limiter - cpu.d1),
		],
	];
	const results: (Record<Variant, number> & { own: number })[] = [];
	for (let round = 0; round < rounds; round += 1) {
		const cpu = { limiter: 0, held: 0, nothing: 0, headers: 0, d1: 0, batch: 0, all: 0, own: 0 };
		for (const [name, query] of shuffled(Object.entries(VARIANTS)))
			Object.assign(cpu, { [name]: (await measure(floor, "list", SLICE, query)).cpu });
		cpu.own = (await measure(service, "list", SLICE)).cpu;
		results.push(cpu);
		tell(`simulators, round ${round + 1} of ${rounds}`);
	}
	/**
	 * Returns the share of a part in the CPU time of the handwritten worker (`nothing`) or of this
	 * service (`own`).
	 */
	const share = (
		cost: (cpu: Record<Variant, number>, own: number) => number,
		of: "nothing" | "own",
	) =>
		figureOf(results, (some) => {
			const mean = (name: Variant | "own") => lowerMean(some.map((cpu) => cpu[name]));
			const cpu = {
				limiter: mean("limiter"),
				held: mean("held"),
				nothing: mean("nothing"),
				headers: mean("headers"),
				d1: mean("d1"),
				batch: mean("batch"),
				all: mean("all"),
			};
			return cost(cpu, mean(of)) / mean(of);
		});
	return [
		{ title: "**Share of the CPU time of listing members**", cells: {} },
		...parts.map(
			([title, cost]): Line => ({
				title,
				cells: { tenantry: share(cost, "own"), floor: share(cost, "nothing") },
			}),
		),
	];
}
