/** A time in milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.sssZ`, which sorts as text. */
export const iso = (at: number) => new Date(at).toISOString();

/** The current time, as `iso` writes it. */
export const now = () => new Date().toISOString();
