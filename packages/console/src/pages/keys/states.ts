/** States of keys, and conversions of dates. */
import type { PersonalApiKey } from "tenantry-client";
import { TIME } from "../../ui/zone.ts";

const DAY_MS = 86_400_000;

/**
 * A key expires soon if it expires within this many days. The event `key.expiring` uses the same
 * limit.
 */
const SOON_DAYS = 7;

/** A key counts as unused after this many days. */
export const UNUSED_DAYS = 90;

type Dates = Pick<PersonalApiKey, "expires_at" | "last_used_at" | "created_at">;

const inDays = (days: number) => Date.now() + days * DAY_MS;

export const isExpired = ({ expires_at }: Dates) =>
	expires_at !== null && Date.parse(expires_at) <= Date.now();

export const expiresSoon = (key: Dates) =>
	key.expires_at !== null && !isExpired(key) && Date.parse(key.expires_at) <= inDays(SOON_DAYS);

export const isUnused = ({ last_used_at, created_at }: Dates) =>
	Date.parse(last_used_at ?? created_at) <= inDays(-UNUSED_DAYS);

/** The filters of a list of keys. `value` is in the URL. */
export const STATES: readonly (readonly [
	value: string,
	words: string,
	shows: (key: Dates) => boolean,
])[] = [
	["", "All keys", () => true],
	["expires_soon", "Expire soon", expiresSoon],
	["expired", "Expired", isExpired],
	["unused", "Not used for 90 days", isUnused],
	["never_used", "Never used", ({ last_used_at }) => last_used_at === null],
];

/** Formats a time in the zone of the console, for use in text. Elsewhere, use `<Time>`. */
export const momentOf = (value: string) => TIME.format(new Date(value));

/** Returns the time this many days from now, without seconds. */
export const dayAfter = (days: number) =>
	`${new Date(inDays(days)).toISOString().slice(0, 16)}:00Z`;

/**
 * Returns the choice with which the form of a new key begins.
 * @param limit when the key of this session expires
 */
export const usualExpiry = (limit: string | null) =>
	limit !== null && limit < dayAfter(90) ? "session" : "90";
