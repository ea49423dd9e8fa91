import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { ACCESS_TOKEN, isWellFormed, newValue } from "../../src/keys/keys.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

test.each(["tnt_", ACCESS_TOKEN])("a key with %s ends with the CRC-32 of the rest", (prefix) => {
	for (let n = 0; n < 20; n += 1) {
		const key = newValue(prefix);
		const [body = "", sum = ""] = key.split(/_(?=\w{6}$)/);
		const value = [...sum].reduce((total, digit) => 62 * total + DIGITS.indexOf(digit), 0);
		expect(value).toBe(crc32(body));
		expect(isWellFormed(key, prefix)).toBe(true);
		expect(
			isWellFormed(
				key.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")),
				prefix,
			),
		).toBe(false);
	}
});
