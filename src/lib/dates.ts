/* Times as people write them, in UTC. Loaded with what sends mails or shows pages. */

const date = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const time = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" });

/** Formats a time, for example as "2 January 2026 at 15:04 UTC". */
export const dateAndTime = (at: Date) => `${date.format(at)} at ${time.format(at)} UTC`;

/** Formats a range, for example as "2 January 2026, 15:00 to 16:00 UTC". */
export const range = (start: Date, end: Date) =>
	date.format(start) === date.format(end)
		? `${date.format(start)}, ${time.format(start)} to ${time.format(end)} UTC`
		: `${date.format(start)} at ${time.format(start)} to ${dateAndTime(end)}`;
