type Options = { alphabet?: "base64" | "base64url"; omitPadding?: boolean };

/**
 * Adds the base64 methods of `Uint8Array`, which workerd has, to Node.js 24: without a flag it has
 * none, and with the flag it encodes a part of a buffer from the start of the buffer.
 */
export function addBase64() {
	Object.assign(Uint8Array, {
		fromBase64: (text: string, { alphabet = "base64" }: Options = {}) =>
			new Uint8Array(Buffer.from(text, alphabet)),
	});
	Object.assign(Uint8Array.prototype, {
		toBase64(this: Uint8Array, { alphabet = "base64" }: Options = {}) {
			return Buffer.from(this).toString(alphabet);
		},
	});
}
