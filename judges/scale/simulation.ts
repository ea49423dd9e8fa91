import {
	BUSY_MS,
	LIMITS,
	LOAD,
	type Operation,
	PEAK,
	START_SPREAD_SECONDS,
	TICK_MS,
} from "./assumptions.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Operations that people cause, more of them in the busiest hour. User events aren't in D1 at this
 * size.
 */
const CAUSED: Operation[] = ["read", "write", "job", "delivery", "use"];

const HOURS_A_MONTH = 720;

/** Returns how often an organization causes an operation in the busiest hour. */
const perPeakHour = (operation: Operation) => (LOAD[operation] * PEAK) / HOURS_A_MONTH;

/**
 * Returns how many milliseconds the operations of an organization keep D1's thread busy in the
 * busiest hour.
 */
export const causedBusyMs = (operations = CAUSED) =>
	operations.reduce((sum, name) => sum + perPeakHour(name) * BUSY_MS[name], 0);

/**
 * Returns how many runs a tick launches in the first minutes of an hour, with one hourly export per
 * organization.
 */
const launchedByTick = (organizations: number) =>
	Math.min(organizations / (START_SPREAD_SECONDS / 60), LIMITS.launches_a_tick);

/** Returns the utilization of D1's thread in the first minutes of the busiest hour, from 0 to 1. */
export const busiestShare = (organizations: number, caused = causedBusyMs()) =>
	(launchedByTick(organizations) * (BUSY_MS.run + TICK_MS.due) + TICK_MS.tick) / MINUTE_MS +
	(organizations * caused) / HOUR_MS;

/** Returns a generator of reproducible random numbers from 0 to 1 (mulberry32). */
function randomNumbers(seed: number) {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

/**
 * Simulates the busiest hour of one database, which runs one batch at a time in the order of
 * arrival. Each minute, a tick inserts the due runs and launches them. They start as fast as a
 * Workflow creates instances.
 * @returns the utilization of the database, the minute in which the last run starts, and the
 * waiting times of requests in milliseconds: the median, the 99th percentile (`p99`) and the
 * 99.99th (`most`)
 */
export function simulate(organizations: number) {
	const random = randomNumbers(organizations);
	/** Returns an exponentially distributed random time. */
	const exponential = (mean: number) => -Math.log(1 - random()) * mean;
	const arrivals: { at: number; busy: number; isRequest: boolean }[] = [];
	for (const name of CAUSED) {
		const gap = HOUR_MS / (perPeakHour(name) * organizations);
		const isRequest = name === "read" || name === "write";
		for (let at = exponential(gap); at < HOUR_MS; at += exponential(gap))
			arrivals.push({ at, busy: exponential(BUSY_MS[name]), isRequest });
	}
	let waiting = organizations;
	let lastStart = 0;
	for (let minute = 0; minute < 60; minute += 1) {
		const launched = Math.min(waiting, Math.round(launchedByTick(organizations)));
		waiting -= launched;
		const at = minute * MINUTE_MS;
		arrivals.push({ at, busy: TICK_MS.tick + launched * TICK_MS.due, isRequest: false });
		const spread = (launched / LIMITS.creations_a_second) * 1000;
		for (let i = 0; i < launched; i += 1)
			arrivals.push({
				at: at + random() * spread,
				busy: exponential(BUSY_MS.run),
				isRequest: false,
			});
		if (launched > 0) lastStart = at + spread;
	}
	arrivals.sort((a, b) => a.at - b.at);
	let free = 0;
	let used = 0;
	const waits: number[] = [];
	for (const { at, busy, isRequest } of arrivals) {
		const start = Math.max(at, free);
		if (isRequest) waits.push(start - at);
		free = start + busy;
		used += busy;
	}
	waits.sort((a, b) => a - b);
	const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0;
	return {
		used: used / HOUR_MS,
		startMinutes: lastStart / MINUTE_MS,
		median: at(0.5),
		p99: at(0.99),
		most: at(0.9999),
	};
}
