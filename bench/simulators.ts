/** What the local simulators cost of a request's CPU time: the floor with each part left out. */
import { measure, sendMany } from "./load.ts";
import type { Service } from "./operations.ts";
import { type Line, range, tell } from "./table.ts";

const REQUESTS = 250;

/** What is left out, by what the difference tells. */
const VARIANTS = {
	limiter: "&without=limiter",
	held: "&without=held",
	nothing: "",
	d1: "&without=d1",
	batch: "&without=batch",
	all: "&without=limiter,d1",
} as const;

type Variant = keyof typeof VARIANTS;

/** The share of each simulator in the CPU time of listing members, of the floor and of this service. */
export async function measureSimulators(
	floor: Service,
	service: Service,
	rounds: number,
): Promise<Line[]> {
	await sendMany(floor, "list", REQUESTS);
	await sendMany(service, "list", REQUESTS);
	/** Milliseconds of CPU time; `own` is that of the service whose share is asked for. */
	const parts: [title: string, cost: (cpu: Record<Variant, number>, own: number) => number][] = [
		["the rate limiter", (cpu) => cpu.nothing - cpu.limiter],
		["one read of KV, which a key's first request takes", (cpu) => cpu.held - cpu.nothing],
		["one D1 statement, alone in its trip", (cpu) => cpu.batch - cpu.d1],
		["its batch of guard, page and count", (cpu) => cpu.nothing - cpu.d1],
		["HTTP and what else there is in a request", (cpu) => cpu.all],
		[
			"what remains: its own code",
			(cpu, own) => own - cpu.all - (2 * cpu.nothing - cpu.limiter - cpu.d1),
		],
	];
	const shares = parts.map(() => ({ floor: [] as number[], service: [] as number[] }));
	for (let round = 0; round < rounds; round += 1) {
		const cpu = { limiter: 0, held: 0, nothing: 0, d1: 0, batch: 0, all: 0 };
		for (const [name, query] of Object.entries(VARIANTS))
			Object.assign(cpu, { [name]: (await measure(floor, "list", REQUESTS, query)).cpu });
		const own = (await measure(service, "list", REQUESTS)).cpu;
		for (const [i, [, cost]] of parts.entries()) {
			shares[i]?.floor.push(cost(cpu, cpu.nothing) / cpu.nothing);
			shares[i]?.service.push(cost(cpu, own) / own);
		}
		tell(`simulators, round ${round + 1} of ${rounds}`);
	}
	return [
		{ title: "**What the local simulators cost, of the CPU time of listing members**", cells: {} },
		...parts.map(
			([title], i): Line => ({
				title,
				cells: {
					tenantry: range(shares[i]?.service ?? []),
					floor: range(shares[i]?.floor ?? []),
				},
			}),
		),
	];
}
