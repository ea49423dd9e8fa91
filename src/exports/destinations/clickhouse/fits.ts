import { parseExact } from "../../../lib/lossless_json.ts";
import type { Kind } from "../../query/expression.ts";
import { parseJson } from "../../query/values.ts";
import { documents } from "../fit/json.ts";
import {
	ALL_YEARS,
	booleans,
	byteLength,
	DOUBLE,
	days,
	decimals,
	type Fit,
	floats,
	integers,
	labels,
	matching,
	ofKind,
	type Range,
	SINGLE,
	signed,
	texts,
	times,
	unsigned,
	type Value,
} from "../fit/values.ts";

/** How a server reads times, which depends on its version. */
export type Times = {
	/** The first and the last year of DateTime64 and Date32, with four digits. */
	years: [first: string, last: string];
	/** Whether a fraction of a second before 1970 is read correctly. */
	readsFractions: boolean;
};

/** Servers for which these aren't all years store other times as the first or the last one. */
export const OLD_TIMES: Times = { years: ["1900", "2299"], readsFractions: false };
export const NEW_TIMES: Times = { years: ["0000", "9999"], readsFractions: true };

const EPOCH = "1970-01-01";
/** The range of DateTime: seconds in 32 bits without a sign. */
const SECONDS: Range = { from: EPOCH, before: "2106-02-07T06:28:16" };
const MAX_SECONDS = 2 ** 32 - 1;
/** The range of Date: days in 16 bits without a sign. */
const DAYS: Range = { from: EPOCH, before: "2149-06-07" };

/** The ranges of DateTime64 whose 64 bits aren't enough for all years, by the number of digits. */
const SHORTER: Record<number, Range> = {
	8: { from: "0001", before: "4892-10-07T21:52:00" },
	9: { from: "1677-09-21T00:12:44", before: "2262-04-11T23:47:16" },
};

const later = (a: string, b: string) => (a > b ? a : b);
const earlier = (a: string, b: string) => (a < b ? a : b);

/** The type with its arguments. DESCRIBE breaks the lines of long ones. */
const TYPE = /^\s*(\w+)(?:\((.*)\))?\s*$/s;

/** A name in quotes, a text in quotes, brackets, or a comma. The last quote is optional. */
const PART = /`[^`\\]*(?:\\.[^`\\]*)*`?|'[^'\\]*(?:\\.[^'\\]*)*'?|[(),]/gs;

/** Splits the arguments of a type. */
function argumentsOf(text: string): string[] {
	let depth = 0;
	let start = 0;
	const parts: string[] = [];
	for (const { 0: token, index } of text.matchAll(PART)) {
		if (token === "(") depth += 1;
		else if (token === ")") depth -= 1;
		else if (token === "," && depth === 0) {
			parts.push(text.slice(start, index).trim());
			start = index + 1;
		}
	}
	return [...parts, text.slice(start).trim()];
}

const parsed = (type: string) => {
	const [, name = "", args = ""] = TYPE.exec(type) ?? [];
	return { name, args: argumentsOf(args) };
};

/** Whether a column of this type holds null. */
export function holdsNull(type: string): boolean {
	const { name, args } = parsed(type);
	if (name === "LowCardinality") return holdsNull(args[0] ?? "");
	if (name === "SimpleAggregateFunction") return holdsNull(args[1] ?? "");
	return ["Nullable", "Variant", "Dynamic", "Nothing"].includes(name);
}

/** Returns a type without its wrappers: `String` for `LowCardinality(Nullable(String))`. */
function bareType(type: string): string {
	const { name, args } = parsed(type);
	if (name === "Nullable" || name === "LowCardinality") return bareType(args[0] ?? "");
	return name === "SimpleAggregateFunction" ? bareType(args[1] ?? "") : type;
}

const DOCUMENTS = ["JSON", "Object", "Dynamic", "Variant"];
const STRUCTURES = ["Array", "Map", "Tuple", "Nested", ...DOCUMENTS];

const UUID = /^[\da-f]{8}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{12}$/i;

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d{1,2})\.){3}(?:25[0-5]|2[0-4]\d|1?\d{1,2})$/;

/** IPv6, or IPv4, which becomes the mapped address. */
const isAddress: Fit = (value) => {
	const text = String(value);
	if (!/^[\da-f:.]{2,45}$/i.test(text)) return undefined;
	return IPV4.test(text) || URL.canParse(`http://[${text}]`) ? text : undefined;
};

const TIME = /^-?\d{1,3}:[0-5]\d:[0-5]\d(?:\.(\d{1,9}))?$/;

/** @param digits how many digits of a second the column has */
const timesOfDay =
	(digits: number): Fit =>
	(value) => {
		const [time, fraction = ""] = TIME.exec(String(value)) ?? [];
		return fraction.length <= digits ? time : undefined;
	};

/** Keeps 8 of the 24 bits of a number's digits, as ClickHouse does. */
function toBfloat16(number: number) {
	const view = new DataView(new ArrayBuffer(4));
	view.setFloat32(0, number);
	view.setUint16(2, 0);
	return view.getFloat32(0);
}

/** Numbers are seconds since 1970. */
function dateTimes(kind: Kind): Fit {
	const fit = times(kind, SECONDS, 0);
	const seconds = integers(0n, BigInt(MAX_SECONDS));
	return (value, lose) =>
		typeof value === "number" || typeof value === "bigint"
			? seconds(value, lose)
			: fit(value, lose);
}

function dateTime64s(kind: Kind, [digits = "3", zone]: string[], server: Times): Fit {
	const unit = Number(digits);
	const [first, last] = server.years;
	const { from, before } = SHORTER[unit] ?? ALL_YEARS;
	// In other time zones, the years are those of local times.
	const isUtc = zone === "'UTC'";
	const range = {
		from: later(from, isUtc ? first : `${first}-01-02`),
		before: earlier(before, isUtc ? `${last}-12-31T24` : `${last}-12-31`),
	};
	const fit = times(kind, range, unit);
	if (server.readsFractions || unit === 0) return fit;
	return (value, lose) => {
		const time = fit(value, lose);
		const isRead = String(time) >= EPOCH || /\.0+Z$/.test(String(time));
		return isRead ? time : undefined;
	};
}

/** The values of an enum: `'a' = 1, 'b' = 2`. */
function enumLabels(args: string[]) {
	return labels(
		args.flatMap((arg) => {
			const [, name = "", code = ""] = /^'(.*)'\s*=\s*(-?\d+)$/s.exec(arg) ?? [];
			return [name.replace(/\\(.)/gs, "$1"), Number(code)];
		}),
	);
}

/** Returns an element of JSON as it is written; undefined if it doesn't fit. */
type FitElement = (value: unknown, lose: () => void) => unknown;

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);

const isValue = (value: unknown): value is Value =>
	["string", "number", "boolean"].includes(typeof value);

/** Returns elements as they are written; undefined if one doesn't fit. Null is left to the server. */
function fitAll(values: unknown[], fitAt: (i: number) => FitElement | null, lose: () => void) {
	const fitted = values.map((value, i) => {
		const fit = fitAt(i);
		return fit === null || value === null ? value : fit(value, lose);
	});
	return fitted.includes(undefined) ? undefined : fitted;
}

/** The fit of objects. `fitAt` returns the fit of a key's value. */
const objects =
	(fitAt: (key: string) => FitElement | null): FitElement =>
	(value, lose) => {
		if (!isObject(value)) return undefined;
		const keys = Object.keys(value);
		const fitted = fitAll(Object.values(value), (i) => fitAt(keys[i] ?? ""), lose);
		return fitted && Object.fromEntries(keys.map((key, i) => [key, fitted[i]]));
	};

function arrays([type = ""]: string[], server: Times): FitElement | null {
	const fit = elementFit(type, server);
	if (fit === null) return null;
	return (value, lose) => (Array.isArray(value) ? fitAll(value, () => fit, lose) : undefined);
}

function maps([key = "", type = ""]: string[], server: Times): FitElement | null {
	const [fitKey, fit] = [elementFit(key, server), elementFit(type, server)];
	if (fitKey === null && fit === null) return null;
	const fitValues = objects(() => fit);
	return (value, lose) => {
		const fitted = fitValues(value, lose);
		const areKeys = isObject(fitted) && fitAll(Object.keys(fitted), () => fitKey, lose);
		return areKeys ? fitted : undefined;
	};
}

/** The name in an element of a tuple, such as `a UInt8`. */
const NAME = /^(?:`([^`]*)`|(\w+))\s+(?=\S)/;

function tuples(args: string[], server: Times): FitElement | null {
	const elements = args.map((arg) => {
		const [name = "", quoted, plain] = NAME.exec(arg) ?? [];
		return { name: quoted ?? plain, fit: elementFit(arg.slice(name.length), server) };
	});
	if (elements.every(({ fit }) => fit === null)) return null;
	const fits = new Map(elements.map(({ name, fit }) => [name, fit]));
	const fitObject = objects((key) => fits.get(key) ?? null);
	return (value, lose) =>
		Array.isArray(value)
			? fitAll(value, (i) => elements[i]?.fit ?? null, lose)
			: fitObject(value, lose);
}

/** Returns the fit of a type within JSON; null if it holds everything, or if the server rejects. */
function elementFit(type: string, server: Times): FitElement | null {
	const { name, args } = parsed(bareType(type));
	if (name === "Array") return arrays(args, server);
	if (name === "Map") return maps(args, server);
	if (name === "Tuple") return tuples(args, server);
	if (name === "Nested") return arrays([`Tuple(${args.join(", ")})`], server);
	const fit = fitOf(type, "text", server);
	if (fit === null) return null;
	return (value, lose) => {
		const scalar = JSON.isRawJSON(value) ? value.rawJSON : value;
		const kept = isValue(scalar) ? fit(scalar, lose) : undefined;
		return typeof kept === "bigint" ? JSON.rawJSON(String(kept)) : kept;
	};
}

/** The fit of JSON text whose elements have types. */
const structures =
	(fit: FitElement): Fit =>
	(json, lose) => {
		const value = fit(parseJson(String(json), parseExact), lose);
		return value === undefined ? undefined : JSON.stringify(value);
	};

/** A path, whose parts may be in quotes, and its type: `a.b UInt8`. */
const TYPED_PATH = /^((?:`[^`\\]*(?:\\.[^`\\]*)*`|[\w.])+)\s+([^=\s].*)$/s;

/** Returns the objects and keys at a path. A key with dots, such as `a.b`, is a path, too. */
function placesOf(
	value: unknown,
	path: string[],
): { object: Record<string, unknown>; key: string }[] {
	if (!isObject(value)) return [];
	return path.flatMap((_, i) => {
		const key = path.slice(0, i + 1).join(".");
		if (!Object.hasOwn(value, key)) return [];
		const rest = path.slice(i + 1);
		return rest.length === 0 ? [{ object: value, key }] : placesOf(value[key], rest);
	});
}

/** JSON with types for some of its paths: `JSON(a.b UInt8, max_dynamic_paths = 8)`. */
function typedPaths(args: string[], server: Times): FitElement | null {
	const paths = args.flatMap((arg) => {
		const [, path = "SKIP", type = ""] = TYPED_PATH.exec(arg) ?? [];
		const fit = path === "SKIP" ? null : elementFit(type, server);
		return fit ? [{ path: path.replace(/`|\\(.)/gs, "$1").split("."), fit }] : [];
	});
	if (paths.length === 0) return null;
	return (value, lose) => {
		for (const { path, fit } of paths)
			for (const { object, key } of placesOf(value, path)) {
				// Null is left to the server.
				if (object[key] === null) continue;
				const fitted = fit(object[key], lose);
				if (fitted === undefined) return undefined;
				object[key] = fitted;
			}
		return value;
	};
}

function jsonFit(args: string[], server: Times): Fit {
	const fitNumbers = documents();
	const typed = typedPaths(args, server);
	if (typed === null) return fitNumbers;
	const fitTyped = structures(typed);
	return (value, lose) => {
		const json = fitTyped(value, lose);
		return json === undefined ? undefined : fitNumbers(json, lose);
	};
}

function scalarFit(type: string, kind: Kind, server: Times): Fit | null {
	const { name, args } = parsed(type);
	const [first = "", second = ""] = args;
	const bits = Number(/^U?Int(\d+)$/.exec(name)?.[1] ?? 0);
	if (bits > 0) {
		if (kind === "integer" && !name.startsWith("U") && bits >= 64) return null;
		return name.startsWith("U") ? unsigned(bits) : signed(bits);
	}
	if (name.startsWith("Interval")) return signed(64);
	switch (name) {
		case "Float64":
			return kind === "number" ? null : floats(DOUBLE);
		case "Float32":
			return floats(SINGLE);
		case "BFloat16":
			return floats(toBfloat16);
		case "Decimal":
			return decimals(Number(first), Number(second || 0));
		case "FixedString":
			return texts(Number(first), byteLength);
		case "Bool":
			return kind === "boolean" ? null : booleans;
		case "Enum8":
		case "Enum16":
			return enumLabels(args);
		case "UUID":
			return matching(UUID);
		case "IPv4":
			return matching(IPV4);
		case "IPv6":
			return isAddress;
		case "Date":
			return days(kind, DAYS);
		case "Date32":
			return days(kind, { from: server.years[0], before: `${server.years[1]}-12-31T24` });
		case "DateTime":
			return dateTimes(kind);
		case "DateTime64":
			return dateTime64s(kind, args, server);
		case "Time":
			return timesOfDay(0);
		case "Time64":
			return timesOfDay(Number(first || 3));
		default:
			return null;
	}
}

/** Whether a property's value is written as a text, a number or a boolean, not as JSON. */
export const isScalar = (type: string) =>
	/^String/.test(bareType(type)) || scalarFit(bareType(type), "text", NEW_TIMES) !== null;

/**
 * Returns what a column of this type holds of the values of a kind; null if it holds all of them,
 * or if the server rejects what it can't hold.
 * @param type as DESCRIBE TABLE returns it
 */
export function fitOf(type: string, kind: Kind, server: Times): Fit | null {
	const bare = bareType(type);
	const { name, args } = parsed(bare);
	if (!STRUCTURES.includes(name)) {
		const fit = scalarFit(bare, kind, server);
		return fit && ofKind(kind, fit);
	}
	if (kind !== "json") return null;
	if (name === "JSON") return jsonFit(args, server);
	if (DOCUMENTS.includes(name)) return documents();
	const fit = elementFit(bare, server);
	return fit && structures(fit);
}
