/** The windows of exports (docs/exports.md#runs). */
import type { BatchExport } from "tenantry-client";

export type Interval = BatchExport["interval"];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** In milliseconds. */
export const LENGTHS: Record<Interval, number> = {
	"every 5 minutes": 5 * MINUTE,
	"every 15 minutes": 15 * MINUTE,
	hour: HOUR,
	day: DAY,
	week: 7 * DAY,
};

/** 1970-01-05, a Monday: a boundary of every interval. */
const MONDAY = 4 * DAY;

/** The last boundary of UTC's grid at or before this moment. */
export const boundaryBefore = (interval: Interval, at: number) =>
	Math.floor((at - MONDAY) / LENGTHS[interval]) * LENGTHS[interval] + MONDAY;

/** How many whole windows a range has. */
export const windowsIn = (interval: Interval, start: number, end: number) =>
	Math.max(0, Math.floor((end - start) / LENGTHS[interval]));

/** A moment as the value of a field for local times. */
export function toLocal(at: number) {
	const zone = new Date(at).getTimezoneOffset() * MINUTE;
	return new Date(at - zone).toISOString().slice(0, 16);
}

/**
 * The moment of a field for local times, in ISO 8601; null if it is empty.
 * @param meant the moment that the field was filled with. While the field still shows it, that is the one: when clocks go
 * back, the field says the same of two.
 */
export function fromLocal(value: string, meant?: number) {
	if (!value) return null;
	const isMeant = meant !== undefined && toLocal(meant) === value;
	return new Date(isMeant ? meant : value).toISOString();
}
