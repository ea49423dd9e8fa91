/** Statements of the service, with placeholders for values that differ in each request. */
import type { Statement } from "../../harness.ts";

/** The current time in milliseconds, or a random number of 26 bits. */
export type Generated = { number: "now" | "random" };

/**
 * A part of a string: a literal, the address of the invite, the nth generated id, a generated hash,
 * a time relative to now, or a number.
 */
export type Part =
	| string
	| { email: true }
	| { uuid: number }
	| { hash: true }
	| { ms: number }
	| Generated;

/** A literal value, a string of parts, or a number. */
export type Value = { value: unknown } | { parts: Part[] } | Generated;

/** A statement with placeholders. */
export type Recipe = { sql: string; params: Value[] };

/** The statements of a request by round trip, and the time of the request. */
export type Recording = { trips: Statement[][]; at: number };

const GAPS =
	/(?<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|(?<hash>\b[0-9a-f]{64}\b)|(?<time>\d{4}-\d\d-\d\dT[\d:.]+Z)|(?<email>invited-\d+@example\.org)|(?<now>\b\d{13}\b)|(?<random>(?<="nonce":)\d+)/g;

/** Times differ from the time of the request by a multiple of this. */
const TICK_MS = 60_000;

/** Splits a string into parts. `known` has the ids of this recording, in order of appearance. */
function partsOf(text: string, at: number, shared: string, known: string[]): Part[] {
	const parts: Part[] = [];
	let end = 0;
	for (const match of text.matchAll(GAPS)) {
		const [token] = match;
		const { uuid, hash, time, email } = match.groups ?? {};
		if (shared.includes(token)) continue;
		parts.push(text.slice(end, match.index));
		end = match.index + token.length;
		if (uuid && !known.includes(token)) known.push(token);
		if (uuid) parts.push({ uuid: known.indexOf(token) });
		else if (hash) parts.push({ hash: true });
		else if (time) parts.push({ ms: Math.round((Date.parse(time) - at) / TICK_MS) * TICK_MS });
		else if (email) parts.push({ email: true });
		else parts.push({ number: match.groups?.now ? "now" : "random" });
	}
	parts.push(text.slice(end));
	return parts.filter((part) => part !== "");
}

/**
 * Creates a recipe from two recordings of an operation.
 * @throws if the service doesn't send the same statements in both
 */
export function recipeOf(one: Recording, other: Recording): Recipe[][] {
	const inBoth = (recording: Recording, rest: Recording): Recipe[][] => {
		const known: string[] = [];
		const shared = JSON.stringify(rest.trips);
		return recording.trips.map((trip, i) =>
			trip.map(({ sql, params }, j) => ({
				sql,
				params: params.map((value, k) => {
					if (typeof value === "number" && value !== rest.trips[i]?.[j]?.params[k])
						return { number: Math.abs(value - recording.at) < TICK_MS ? "now" : "random" };
					if (typeof value !== "string") return { value };
					const parts = partsOf(value, recording.at, shared, known);
					return parts.every((part) => typeof part === "string") ? { value } : { parts };
				}),
			})),
		);
	};
	const [first, second] = [inBoth(one, other), inBoth(other, one)];
	if (JSON.stringify(first) !== JSON.stringify(second))
		throw new Error("The service doesn't send the same statements in each request.");
	return first;
}
