/** Moments as `<input type="datetime-local">` has them: without a time zone, in that of the reader. */

const two = (value: number) => String(value).padStart(2, "0");

export const toLocalInput = (date: Date) =>
	`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;

/** What a field has, in UTC; "" if it has none. */
export const isoOf = (local: string) => {
	const date = new Date(local);
	return Number.isNaN(date.getTime()) ? "" : date.toISOString();
};
