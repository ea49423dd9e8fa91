import { DAY_MS, HOUR_MS, MINUTE_MS } from "./time.ts";

/** The days of a week, from Monday as in ISO 8601. */
export const WEEKDAYS = [
	"monday",
	"tuesday",
	"wednesday",
	"thursday",
	"friday",
	"saturday",
	"sunday",
] as const;

export type Weekday = (typeof WEEKDAYS)[number];

/** How many zones an isolate remembers: a format is large, and takes a millisecond to make. */
const MAX_ZONES = 50;

/** How many offsets of a zone it remembers. Many exports of a zone need the same ones. */
const MAX_OFFSETS = 500;

/** Since 1972, clocks are only changed at quarters of an hour. */
const QUARTER_MS = 15 * MINUTE_MS;

type Zone = { format: Intl.DateTimeFormat; offsets: Map<number, number> };

const zones = new Map<string, Zone>();

/** @throws RangeError if the runtime doesn't know the zone */
function zoneOf(name: string) {
	const known = zones.get(name);
	if (known) return known;
	const format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
	const zone: Zone = { format, offsets: new Map() };
	if (zones.size >= MAX_ZONES) zones.clear();
	zones.set(name, zone);
	return zone;
}

/** Whether this is the name of a time zone of the IANA database, in any case. */
export function isTimeZone(name: string) {
	// Some runtimes also know offsets, such as +02:00.
	if (!/^[a-z]/i.test(name)) return false;
	try {
		zoneOf(name);
		return true;
	} catch {
		return false;
	}
}

/** Returns how far a time like GMT+05:45 or, long ago, GMT-04:56:02 is ahead of GMT, in ms. */
function readOffset(time: string) {
	const offset = time.split("GMT")[1] ?? "";
	const [hours = 0, minutes = 0, seconds = 0] = offset.slice(1).split(":").map(Number);
	const length = hours * HOUR_MS + minutes * MINUTE_MS + seconds * 1000;
	return offset.startsWith("+") ? length : -length;
}

/** Returns how far the clocks of a zone are ahead of UTC at a time, in milliseconds. null: UTC. */
function offsetAt(name: string | null, at: number) {
	if (name === null) return 0;
	const { format, offsets } = zoneOf(name);
	const quarter = Math.floor(at / QUARTER_MS);
	const known = offsets.get(quarter);
	if (known !== undefined) return known;
	const offset = readOffset(format.format(quarter * QUARTER_MS));
	if (offsets.size >= MAX_OFFSETS) offsets.clear();
	offsets.set(quarter, offset);
	return offset;
}

/** Returns what the clocks of a zone show at a time, as if it were UTC. null: UTC. */
export const localTime = (zone: string | null, at: number) => at + offsetAt(zone, at);

/**
 * Returns when the clocks of a zone show a local time: the first time if they show it twice. If they
 * skip it, returns the time as far after the change as it would have been without.
 */
export function timeOf(zone: string | null, local: number) {
	const [before, after] = [local - DAY_MS, local + DAY_MS].map((at) => local - offsetAt(zone, at));
	const shown = [before, after].find((at) => at !== undefined && localTime(zone, at) === local);
	return shown ?? before ?? local;
}
