const encoder = new TextEncoder();

/** Returns the size of a text in bytes, or that of another value as JSON. The encoding is UTF-8. */
export const bytesIn = (value: unknown) =>
	encoder.encode(typeof value === "string" ? value : JSON.stringify(value)).length;

/** Encodes bytes as base64url without padding (RFC 4648, section 5). */
export const toBase64url = (bytes: Uint8Array) =>
	bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** @throws {SyntaxError} if the text isn't base64url */
export const fromBase64url = (text: string) =>
	Uint8Array.fromBase64(text, { alphabet: "base64url" });
