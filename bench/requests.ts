/** What requests cost, compared with other services. */
import { measure, send, sendMany } from "./load.ts";
import { type Operation, type Service, TITLES } from "./operations.ts";
import { type Column, type Line, median, range, tell } from "./table.ts";

/** So many requests before the first measurement: then the code is compiled. */
const WARM_UP = 400;

/** How much CPU time a measurement is meant to take: /proc counts in steps of 10 ms. */
const SLICE_MS = 600;

/** An organization may have a thousand open invites. */
const MAX_SLICE = 600;

const MIN_SLICE = 30;

/** The services in the order of this round: a different one starts each time. */
const turned = <T>(items: T[], round: number) => [
	...items.slice(round % items.length),
	...items.slice(0, round % items.length),
];

/** A service under the name of its column. */
export type Measured = { column: Column; service: Service };

const offers =
	(operation: Operation) =>
	({ service }: Measured) =>
		service.call(operation) !== null;

/** Sends enough requests for the code to be compiled, and returns how many make up a slice. */
async function warmUp({ service }: Measured, operation: Operation) {
	await sendMany(service, operation, WARM_UP);
	await service.reset();
	const { cpu } = await measure(service, operation, MIN_SLICE * 2);
	await service.reset();
	return Math.round(Math.min(MAX_SLICE, Math.max(MIN_SLICE, SLICE_MS / cpu)));
}

/** CPU time and requests a second of one operation, as multiples of those of the first service in the same round. */
async function compare(all: Measured[], operation: Operation, rounds: number): Promise<Line[]> {
	const services = all.filter(offers(operation));
	tell(`${operation}: warming up`);
	const slices = new Map<Column, number>();
	for (const each of services) slices.set(each.column, await warmUp(each, operation));
	const ratios = new Map<Column, { cpu: number[]; rate: number[] }>();
	for (let round = 0; round < rounds; round += 1) {
		const results = new Map<Column, { cpu: number; rate: number }>();
		for (const { column, service } of turned(services, round)) {
			results.set(column, await measure(service, operation, slices.get(column) ?? MIN_SLICE));
			await service.reset();
		}
		const own = results.get("tenantry");
		if (!own) throw new Error("This service is not among those that are compared.");
		for (const [column, { cpu, rate }] of results) {
			const of = ratios.get(column) ?? { cpu: [], rate: [] };
			of.cpu.push(cpu / own.cpu);
			of.rate.push(rate / own.rate);
			ratios.set(column, of);
		}
		const shown = Array.from(results, ([column, { cpu }]) => `${column} ${cpu.toFixed(2)}`);
		tell(
			`${operation}, round ${round + 1} of ${rounds}: ms of CPU time a request: ${shown.join(", ")}`,
		);
	}
	const line = (title: string, of: "cpu" | "rate"): Line => ({
		title: `${TITLES[operation]}: ${title}`,
		cells: Object.fromEntries(
			Array.from(ratios, ([column, numbers]) => [
				column,
				column === "tenantry" ? "1" : range(numbers[of]),
			]),
		),
	});
	const byHand = ratios.get("floor")?.cpu.map((ratio) => 1 / ratio);
	return [
		line("CPU time", "cpu"),
		...(byHand
			? [
					{
						title: `${TITLES[operation]}: CPU time ÷ by hand`,
						cells: { tenantry: range(byHand) },
					},
				]
			: []),
		line("requests a second", "rate"),
	];
}

/** What one request costs that can be counted. */
export async function count(service: Service, operation: Operation) {
	// The first request may do more, such as read what is kept in the isolate later.
	await send(service, operation);
	const { body, spent, timing } = await send(service, operation, {
		delay: service.counts ? 0 : undefined,
	});
	await service.reset();
	const answer = service.read(operation, JSON.parse(body));
	return { bytes: Buffer.byteLength(body), spent, timing, answer };
}

async function counted(all: Measured[], operation: Operation): Promise<Line[]> {
	const lines = [
		"round trips",
		"rows read, rows written, reads of KV",
		"bytes of the response",
	].map((title): Line => ({ title: `${TITLES[operation]}: ${title}`, cells: {} }));
	for (const { column, service } of all.filter(offers(operation))) {
		if (column === "again") continue;
		const { bytes, spent } = await count(service, operation);
		const cells = [
			spent ? String(spent.trips) : undefined,
			spent ? `${spent.read}, ${spent.written}, ${spent.kv}` : undefined,
			String(bytes),
		];
		for (const [i, cell] of cells.entries()) {
			const line = lines[i];
			if (line && cell !== undefined) line.cells[column] = cell;
		}
	}
	return lines;
}

/** The lines of an operation. */
export const compareRequests = async (all: Measured[], operation: Operation, rounds: number) => [
	...(await compare(all, operation, rounds)),
	...(await counted(all, operation)),
];

/** How often the time is taken for one distance. */
const TIMES = 3;

/**
 * How long a response takes if D1 is far away: as a multiple of the distance, which is how often the caller waits for D1,
 * and what else the service does.
 */
export async function compareDistances(
	all: Measured[],
	operations: readonly Operation[],
	distances: number[],
) {
	const lines: Line[] = [];
	for (const operation of operations)
		for (const distance of distances) {
			const cells: Line["cells"] = {};
			for (const { column, service } of all.filter(offers(operation))) {
				if (!service.counts || column === "again") continue;
				const times: number[] = [];
				for (let i = 0; i < TIMES; i += 1) {
					const began = performance.now();
					await send(service, operation, { delay: distance });
					times.push((performance.now() - began) / distance);
				}
				await service.reset();
				cells[column] = median(times).toFixed(1);
			}
			tell(`${operation}, ${distance} ms from D1: ${JSON.stringify(cells)}`);
			lines.push({
				title: `${TITLES[operation]}: time at ${distance} ms from D1, in trips of ${distance} ms`,
				cells,
			});
		}
	return lines;
}
