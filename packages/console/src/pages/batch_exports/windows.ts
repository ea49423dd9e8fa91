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

/** Returns the last boundary between windows (in UTC) at or before this time. */
export const boundaryBefore = (interval: Interval, at: number) =>
	Math.floor((at - MONDAY) / LENGTHS[interval]) * LENGTHS[interval] + MONDAY;

export const windowsIn = (interval: Interval, start: number, end: number) =>
	Math.max(0, Math.floor((end - start) / LENGTHS[interval]));
