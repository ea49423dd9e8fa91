const encoder = new TextEncoder();

/** Returns the size of a text in bytes, or that of another value as JSON. The encoding is UTF-8. */
export const bytesIn = (value: unknown) =>
	encoder.encode(typeof value === "string" ? value : JSON.stringify(value)).length;
