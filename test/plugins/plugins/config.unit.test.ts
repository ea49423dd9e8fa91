import { describe, expect, test } from "vitest";
import { isSealed, MASK } from "../../../src/keys/secrets.ts";
import {
	assertComplete,
	configCipher,
	fieldsOf,
	masked,
	merge,
	opened,
	sealed,
} from "../../../src/plugins/plugins/config.ts";

const bindings = (...keys: string[]): Env => {
	const SECRETS_KEY = keys.map((key) => btoa(key.repeat(32))).join(",");
	return Object.assign(Object.create(null), { SECRETS_KEY });
};
const cipherWith = (...keys: string[]) => configCipher(bindings(...keys), { uuid: "7" });
const cipher = cipherWith("a");

const field = (secret: boolean) =>
	fieldsOf([{ key: "token", type: "choice", choices: ["hunter22", "other999"], secret }]);
const [SECRET, OPEN] = [field(true), field(false)];

/** A stored config whose token is sealed. */
const stored = (token = "hunter22") => merge(cipher, SECRET, {}, { token });

/** What a plugin gets. */
const readBy = async (config: Record<string, unknown>) =>
	(await opened(cipher, OPEN, config)).config;

test("a schema with values of the wrong type still masks its secret fields", () => {
	const fields = fieldsOf([
		{ key: "token", type: 7, secret: 1, required: "yes", choices: "none" },
		{ key: "other", secret: true, choices: [1, 2] },
		{ key: 7, secret: true },
		{ markdown: "Just text." },
	]);
	const config = { token: "hunter22", other: "hunter22", 7: "hunter22", more: "shown" };
	expect(masked(fields, config)).toEqual({ token: MASK, other: MASK, 7: MASK, more: "shown" });
	expect(masked(fields, { token: "", other: null })).toEqual({ token: "", other: null });
});

test("a schema that is a map masks by its keys, whatever its fields say", () => {
	const fields = fieldsOf({ token: { key: "other", secret: true } });
	const config = { token: "hunter22", other: "shown" };
	expect(masked(fields, config)).toEqual({ token: MASK, other: "shown" });
});

test.each([
	[{ type: "colour" }, "red", "invalid_input", 'Unknown type "colour".'],
	[
		{ type: "choice", choices: ["fast"] },
		"slow",
		"invalid_choice",
		'"slow" is not a valid choice.',
	],
	[{ type: "string" }, 7, "invalid_input", "Not a valid string."],
	[{}, ["x"], "invalid_input", "Not a valid string."],
])("a value of a field %j is rejected: %j", async (field, value, code, detail) => {
	const merged = merge(cipher, fieldsOf([{ key: "k", ...field }]), {}, { k: value });
	await expect(merged).rejects.toMatchObject({
		status: 400,
		body: { code, detail, attr: "config__k" },
	});
});

test.each([undefined, null, ""])("a required field can't be %j", (k) => {
	const fields = fieldsOf([{ key: "k", required: true }]);
	const body = expect.objectContaining({ code: "required", attr: "config__k" });
	expect(() => assertComplete(fields, { k })).toThrow(expect.objectContaining({ body }));
	expect(() => assertComplete(fields, {})).toThrow();
	expect(() => assertComplete(fields, { k: 0 })).not.toThrow();
});

test("a field named like a method of Object.prototype is required, too", () => {
	const fields = fieldsOf([{ key: "constructor", required: true }]);
	expect(() => assertComplete(fields, {})).toThrow();
});

describe("a secret", () => {
	test.each([[{ token: MASK }], [{ token: null }], [{}]])(
		"is sealed, and keeps its value if it is given as %j",
		async (given) => {
			const before = await stored();
			expect(isSealed(before.token)).toBe(true);
			const after = await merge(cipher, SECRET, before, { ...given, more: 1 });
			expect(after).toEqual({ ...before, more: 1 });
			expect(await readBy(after)).toEqual({ token: "hunter22", more: 1 });
		},
	);

	test("gets another value, and is cleared by an empty text", async () => {
		const before = await stored();
		const changed = await merge(cipher, SECRET, before, { token: "other999" });
		expect(await readBy(changed)).toEqual({ token: "other999" });
		expect(await merge(cipher, SECRET, before, { token: "" })).toEqual({ token: "" });
	});

	test("that its field became is masked before it is sealed, and sealed by the next write", async () => {
		const plain = { token: "hunter22" };
		expect(masked(SECRET, plain)).toEqual({ token: MASK });
		for (const config of [
			await sealed(cipher, SECRET, plain),
			await merge(cipher, SECRET, plain, { token: MASK }),
		]) {
			expect(isSealed(config.token)).toBe(true);
			expect(await readBy(config)).toEqual(plain);
		}
	});

	test("whose field is no longer secret stays sealed, masked and hidden until it gets another value", async () => {
		const before = await stored();
		expect(masked(OPEN, before)).toEqual({ token: MASK });
		expect(await opened(cipher, OPEN, before)).toEqual({
			config: { token: "hunter22" },
			secrets: ["hunter22"],
		});
		expect(await merge(cipher, OPEN, before, { token: MASK })).toEqual(before);
		expect(await merge(cipher, OPEN, before, { token: "other999" })).toEqual({ token: "other999" });
	});

	test("is a text that looks sealed: it is sealed, and never mistaken for our own", async () => {
		const forged = `sealed:AAAAAAAA:AAAAAAAAAAAAAAAA:${"A".repeat(22)}`;
		expect(isSealed(forged)).toBe(true);
		const config = await merge(cipher, [], {}, { more: forged });
		expect(config.more).not.toBe(forged);
		expect(await readBy(config)).toEqual({ more: forged });
	});

	test("can be read after a rotation of keys, and not with other keys", async () => {
		const config = await stored();
		expect((await opened(cipherWith("n", "a"), SECRET, config)).config).toEqual({
			token: "hunter22",
		});
		await expect(opened(cipherWith("n"), SECRET, config)).rejects.toThrow("No key");
	});
});
