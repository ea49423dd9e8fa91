/** Formats a time in milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.sssZ`, which sorts as text. */
export const iso = (at: number) => new Date(at).toISOString();

/** Returns the current time in the format of `iso`. */
export const now = () => new Date().toISOString();
