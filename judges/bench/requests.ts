/** Measures what requests cost, compared with other services. */
import { measure, send, sendMany } from "./load.ts";
import { type Operation, type Service, TITLES } from "./operations.ts";
import {
	attempt,
	COLUMNS,
	type Column,
	figureOf,
	type Line,
	lowerMean,
	median,
	shuffled,
	tell,
} from "./table.ts";

/** Requests before the first measurement, so that the code is compiled. */
const WARM_UP = 400;

/** Requests per measurement: few, so that other load on the computer affects all services alike. */
const SLICE = 100;

/** The targets of the figures, by the titles of lines. */
const GOALS: Record<Operation, Record<string, string>> = {
	list: { "CPU time": "better-auth 6, Django 5", "requests a second": "Django 0.33" },
	domain: {},
	invite: { "CPU time": "better-auth 5" },
};

const BY_HAND_GOAL = "1.1";

const lineOf = (operation: Operation, title: string, cells: Line["cells"]): Line => ({
	title: `${TITLES[operation]}: ${title}`,
	cells,
	...(GOALS[operation][title] && { goal: GOALS[operation][title] }),
});

/** A service and the column of its figures. */
export type Measured = { column: Column; service: Service };

const offers =
	(operation: Operation) =>
	({ service }: Measured) =>
		service.call(operation) !== null;

/**
 * Runs `work` for each service that has the operation, and returns the services for which it
 * succeeded.
 */
async function withEach(
	all: Measured[],
	operation: Operation,
	work: (measured: Measured) => Promise<unknown>,
) {
	const working: Measured[] = [];
	for (const measured of all.filter(offers(operation))) {
		const what = `${TITLES[operation]}, ${COLUMNS[measured.column]}`;
		if (await attempt(what, () => work(measured))) working.push(measured);
	}
	return working;
}

type Options = {
	rounds: number;
	/** Requests before the first round. */
	warmUp?: number;
	/** Requests to each service in a round. */
	slice?: number;
};

/** Milliseconds per request, for each service in a round. */
type Round = Partial<Record<Column, { cpu: number; time: number }>>;

async function measureRounds(
	all: Measured[],
	operation: Operation,
	{ rounds, warmUp = WARM_UP, slice = SLICE }: Options,
) {
	tell(`${operation}: warming up`);
	let services = await withEach(all, operation, async ({ service }) => {
		await sendMany(service, operation, warmUp);
		await service.reset();
	});
	const results: Round[] = [];
	for (let i = 0; i < rounds; i += 1) {
		const round: Round = {};
		services = await withEach(shuffled(services), operation, async ({ column, service }) => {
			round[column] = await measure(service, operation, slice);
			await service.reset();
		});
		results.push(round);
		const shown = Object.entries(round).map(([column, { cpu }]) => `${column} ${cpu.toFixed(2)}`);
		tell(
			`${operation}, round ${i + 1} of ${rounds}: ms of CPU time per request: ${shown.join(", ")}`,
		);
	}
	return { results, columns: services.map(({ column }) => column) };
}

/**
 * Compares the CPU time and the requests a second of one operation. Figures are multiples of this
 * service's.
 */
async function compare(all: Measured[], operation: Operation, options: Options): Promise<Line[]> {
	const { results, columns } = await measureRounds(all, operation, options);
	const ratio = (one: Column, other: Column, of: "cpu" | "time") => {
		const mean = (some: Round[], column: Column) =>
			lowerMean(some.map((round) => round[column]?.[of] ?? Number.NaN));
		return figureOf(results, (some) => mean(some, one) / mean(some, other));
	};
	if (!columns.includes("tenantry")) return [];
	const cells = (figure: (column: Column) => string): Line["cells"] =>
		Object.fromEntries(
			columns.map((column) => [column, column === "tenantry" ? "1" : figure(column)]),
		);
	const byHand = {
		title: `${TITLES[operation]}: CPU time ÷ handwritten`,
		cells: { tenantry: ratio("tenantry", "floor", "cpu") },
		goal: BY_HAND_GOAL,
	};
	return [
		lineOf(
			operation,
			"CPU time",
			cells((column) => ratio(column, "tenantry", "cpu")),
		),
		...(columns.includes("floor") ? [byHand] : []),
		lineOf(
			operation,
			"requests a second",
			cells((column) => ratio("tenantry", column, "time")),
		),
	];
}

/** Returns the costs of one request that can be counted, and its response. */
export async function count(service: Service, operation: Operation) {
	const options = { delay: service.counts ? 0 : undefined };
	// The first request may do more, such as read what the isolate then caches.
	await send(service, operation, options);
	const { body, spent, timing } = await send(service, operation, options);
	await service.reset();
	const answer = service.read(operation, JSON.parse(body));
	return { bytes: Buffer.byteLength(body), spent, timing, answer };
}

async function counted(all: Measured[], operation: Operation): Promise<Line[]> {
	const lines = ["round trips", "rows read, rows written, KV reads", "bytes of the response"].map(
		(title) => lineOf(operation, title, {}),
	);
	const counting = all.filter(({ column }) => column !== "again");
	await withEach(counting, operation, async ({ column, service }) => {
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
	});
	return lines;
}

export const compareRequests = async (all: Measured[], operation: Operation, options: Options) => [
	...(await compare(all, operation, options)),
	...(await counted(all, operation)),
];

/** Measurements per distance. */
const TIMES = 3;

/**
 * Measures how long a response takes if each round trip to D1 has a delay.
 * @param distances the delays, in milliseconds
 * @returns lines with multiples of the delay: how often the caller waits for D1, plus the service's
 * other work
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
			const counting = all.filter(({ column, service }) => service.counts && column !== "again");
			await withEach(counting, operation, async ({ column, service }) => {
				// The first request may do more.
				await send(service, operation, { delay: distance });
				const times: number[] = [];
				for (let i = 0; i < TIMES; i += 1) {
					const began = performance.now();
					await send(service, operation, { delay: distance });
					times.push((performance.now() - began) / distance);
				}
				await service.reset();
				cells[column] = median(times).toFixed(1);
			});
			tell(`${operation}, ${distance} ms from D1: ${JSON.stringify(cells)}`);
			lines.push({
				title: `${TITLES[operation]}: response time ÷ delay, ${distance} ms from D1`,
				cells,
			});
		}
	return lines;
}
