/** What is worth knowing of a key at a glance. */
import type { PersonalApiKey } from "tenantry-client";

const DAY_MS = 86_400_000;

/** How long before a key expires it is marked; the event `key.expiring` is written then, too. */
const SOON_DAYS = 7;

/** After how many days without use a key counts as unused. */
const UNUSED_DAYS = 90;

type Dates = Pick<PersonalApiKey, "expires_at" | "last_used_at" | "created_at">;

const inDays = (days: number) => Date.now() + days * DAY_MS;

export const isExpired = ({ expires_at }: Dates) =>
	expires_at !== null && Date.parse(expires_at) <= Date.now();

export const expiresSoon = (key: Dates) =>
	key.expires_at !== null && !isExpired(key) && Date.parse(key.expires_at) <= inDays(SOON_DAYS);

export const isUnused = ({ last_used_at, created_at }: Dates) =>
	Date.parse(last_used_at ?? created_at) <= inDays(-UNUSED_DAYS);

/** The filters of a list of keys: the value in the URL, its words, and which keys it shows. */
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

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** A moment in the reader's time zone, for texts; elsewhere `<Time>` shows it. */
export const momentOf = (value: string) => MOMENT.format(new Date(value));

/** The moment that is so many days from now, without its seconds. */
export const dayAfter = (days: number) =>
	`${new Date(inDays(days)).toISOString().slice(0, 16)}:00Z`;

/** A moment as the value of an input of the type `datetime-local`. */
export function toLocal(value: string) {
	const date = new Date(value);
	return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment that such an input has; null if it is empty. */
export const fromLocal = (value: string) => (value ? new Date(value).toISOString() : null);
