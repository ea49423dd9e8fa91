/** Codes of an authenticator app (RFC 6238), computed without the library that the product uses. */
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function decode(base32: string) {
	const bits = [...base32].map((c) => BASE32.indexOf(c).toString(2).padStart(5, "0")).join("");
	const bytes = bits.match(/.{8}/g) ?? [];
	return Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 2));
}

/** Returns the code that an app shows, `steps` periods from now. */
export async function codeOf(secret: string, steps = 0) {
	const key = await crypto.subtle.importKey(
		"raw",
		decode(secret),
		{ name: "HMAC", hash: "SHA-1" },
		false,
		["sign"],
	);
	const counter = new DataView(new ArrayBuffer(8));
	counter.setUint32(4, Math.floor(Date.now() / 30_000) + steps);
	const hmac = new DataView(await crypto.subtle.sign("HMAC", key, counter.buffer));
	const offset = hmac.getUint8(19) & 15;
	return String((hmac.getUint32(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** Returns a code that is wrong now, and one step before and after. */
export async function wrongCode(secret: string, i = 0) {
	const right = await Promise.all([-1, 0, 1].map((steps) => codeOf(secret, steps)));
	const codes = Array.from({ length: 4 }, (_, k) => String(4 * i + k).padStart(6, "0"));
	return codes.find((code) => !right.includes(code)) ?? "";
}
