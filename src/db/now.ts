/** The current time as `YYYY-MM-DDTHH:MM:SS.sssZ`, which sorts as text. */
export const now = () => new Date().toISOString();
