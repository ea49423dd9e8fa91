/**
 * Replaces values that differ from run to run: ids, times, keys, tokens and hosts. Equal values get
 * equal replacements.
 */
import { crc32 } from "node:zlib";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/lib/time.ts";

const STEP_MS = 10_000;

/** The hour in which the examples take place. */
const HOUR = Date.parse("2026-11-02T10:00:00.000Z");

/** All except those that are the same everywhere, such as of the role Auditor. */
const UUID = /\b(?!0{8})[\da-f]{8}-[\da-f]{4}-([\da-f])[\da-f]{3}-[\da-f]{4}-[\da-f]{12}\b/g;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const DAY = /^\d{4}-\d\d-\d\d$/;
/** Keys and tokens for SCIM. */
const KEY = /\btnt_(?:scim_)?[0-9A-Za-z]{43}_[0-9A-Za-z]{6}\b/g;
const MASK = /tnt_(?:scim_)?…[0-9A-Za-z]{4}/g;
const CURSOR = /(?<=[?&]cursor=)[\w-]+/g;
/** Digests of files. */
const DIGEST = /^[\da-f]{64}$/;
/** The duration of a run in its log. */
const DURATION = /(?<= bytes?, )[\d.]+ seconds?/g;
/** Receipts, which are signed: JWS in the compact form. */
const SIGNED = /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g;
const TOKEN = /(?<![\w-])[\w-]{43}(?![\w-])/g;

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const base62 = (n: number, length: number): string =>
	length === 0 ? "" : base62(Math.floor(n / 62), length - 1) + DIGITS.charAt(n % 62);

const prefixOf = (key: string) => key.replace(/[^_]+_[^_]+$/, "");

/** Returns a key that doesn't exist, with a valid checksum (docs/keys.md#personal-api-keys). */
function exampleKey(n: number, key: string) {
	const body = `${prefixOf(key)}${"Example".repeat(5)}${String(n).padStart(8, "0")}`;
	return `${body}_${base62(crc32(body), 6)}`;
}

const maskOf = (key: string) => `${prefixOf(key)}…${key.slice(-4)}`;

const exampleToken = (n: number) => `example-token-${String(n).padStart(29, "0")}`;

/** Returns a function that replaces values by their number, in the order of appearance. */
function numbered(make: (n: number, value: string) => string) {
	const known = new Map<string, string>();
	return (value: string) => {
		const replacement = known.get(value) ?? make(known.size + 1, value);
		known.set(value, replacement);
		return replacement;
	};
}

type Options = {
	/** Strings and their replacements, such as URLs of local servers. */
	texts: [from: string, to: string][];
	/** The start of each step of the recording, in Unix milliseconds. */
	steps: number[];
	/** The values of all keys. */
	keys: string[];
};

export const keysIn = (text: string) => Array.from(text.matchAll(KEY), ([key]) => key);

export function normalizer({ texts, steps, keys }: Options) {
	const [start = 0] = steps;
	const hour = Math.floor(start / HOUR_MS) * HOUR_MS;
	const masks = new Map<string, string>();
	const key = numbered((n, value) => {
		const example = exampleKey(n, value);
		masks.set(maskOf(value), maskOf(example));
		return example;
	});
	for (const each of keys) key(each);
	const prefix = HOUR.toString(16).padStart(12, "0").replace(/^.{8}/, "$&-");
	const uuid = numbered((n, value) => {
		const version = value.charAt(14);
		return `${prefix}-${version}000-8000-${String(n).padStart(12, "0")}`;
	});
	const token = numbered(exampleToken);
	const digest = numbered((n) => `${"0123456789abcdef".repeat(3)}${String(n).padStart(16, "0")}`);

	/**
	 * Replaces a time. Whole hours, and whole minutes before the recording, keep their distance to
	 * the hour. Other times become the time of their step, hours after it, or the start of the hour.
	 */
	function time(text: string) {
		const at = Date.parse(text);
		if (at < start - DAY_MS || at > start + 8 * DAY_MS) return text;
		if (at % (at < start ? MINUTE_MS : HOUR_MS) === 0)
			return new Date(at - hour + HOUR).toISOString();
		const ahead = Math.max(0, Math.floor((at - start) / HOUR_MS)) * HOUR_MS;
		const step = steps.findLastIndex((began) => began <= at - ahead);
		return new Date(HOUR + (step + 1) * STEP_MS + ahead).toISOString();
	}

	const days = Math.floor(HOUR / DAY_MS) - Math.floor(hour / DAY_MS);
	const day = (text: string) =>
		new Date(Date.parse(text) + days * DAY_MS).toISOString().slice(0, 10);

	/** Replaces the time and the id of a row in a page's cursor, which is JSON in base64url. */
	const cursor = (text: string) =>
		Buffer.from(string(Buffer.from(text, "base64url").toString())).toString("base64url");

	function string(value: string): string {
		if (DAY.test(value)) return day(value);
		return texts
			.reduce((text, [from, to]) => text.replaceAll(from, to), value)
			.replace(CURSOR, cursor)
			.replace(KEY, key)
			.replace(MASK, (mask) => masks.get(mask) ?? mask)
			.replace(SIGNED, "eyJhbGciOiJFZERTQSJ9.example.example")
			.replace(DIGEST, digest)
			.replace(TOKEN, token)
			.replace(UUID, uuid)
			.replace(TIME, time)
			.replace(DURATION, "1.5 seconds");
	}

	/** Normalizes a value. `name` is the name of its field. */
	return function normalize(value: unknown, name = ""): unknown {
		if (typeof value === "string") return string(value);
		// A duration.
		if (name === "seconds" && typeof value === "number") return 1.5;
		// Times in tokens of providers.
		if (name === "iat" || name === "exp") return HOUR / 1000;
		if (Array.isArray(value)) return value.map((item) => normalize(item));
		if (typeof value !== "object" || value === null) return value;
		return Object.fromEntries(
			Object.entries(value).map(([name, inner]) => [string(name), normalize(inner, name)]),
		);
	};
}
