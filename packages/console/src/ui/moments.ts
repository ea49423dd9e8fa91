/** Conversions for `<input type="datetime-local">`, which has local times. */

const two = (value: number) => String(value).padStart(2, "0");

export const toLocalInput = (date: Date) =>
	`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;

/** Converts the value of an input to UTC; "" if it is empty. */
export const isoOf = (local: string) => {
	const date = new Date(local);
	return Number.isNaN(date.getTime()) ? "" : date.toISOString();
};
