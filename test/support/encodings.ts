/** Base64 and hex of bytes, as workerd has them and Node.js 24 lacks them. */

const INVALID = "The text isn't encoded as expected.";

if (!("fromBase64" in Uint8Array)) {
	Object.assign(Uint8Array, {
		fromBase64(text: string, { alphabet = "base64" } = {}) {
			const [letters, others] = alphabet === "base64" ? ["+/", "-_"] : ["-_", "+/"];
			if (!letters || !others || [...others].some((letter) => text.includes(letter)))
				throw new SyntaxError(INVALID);
			const [plus = "", slash = ""] = letters;
			const base64 = text.replaceAll(plus, "+").replaceAll(slash, "/");
			// Like the method, it ignores spaces and doesn't need padding.
			return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
		},
		fromHex(text: string) {
			if (!/^([0-9a-f]{2})*$/i.test(text)) throw new SyntaxError(INVALID);
			return Uint8Array.from(Buffer.from(text, "hex"));
		},
	});
	Object.assign(Uint8Array.prototype, {
		toBase64(this: Uint8Array, { alphabet = "base64", omitPadding = false } = {}) {
			const text = Buffer.from(this).toString(alphabet === "base64" ? "base64" : "base64url");
			const padding = "=".repeat(-text.length & 3);
			return omitPadding ? text.replace(/=+$/, "") : text + padding;
		},
		toHex(this: Uint8Array) {
			return Buffer.from(this).toString("hex");
		},
	});
}
