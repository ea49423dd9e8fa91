import { expect, test } from "vitest";
import { unknownError } from "../../src/http/unused.ts";

test("only the names that an error lists are compared with those that are known", () => {
	let compared = 0;
	const found = Array.from({ length: 1000 }, (_, i) => ({
		path: [`nmae${i}`],
		isKnown: false,
		get known() {
			compared += 1;
			return ["name"];
		},
	}));
	const error = unknownError(found, "field", {});
	expect(error?.body.detail).toMatch(/^Unknown fields: nmae0.*, nmae9.*, 990 more\.$/);
	expect(compared).toBe(10);
});

test("a long name is compared with none", () => {
	const known = new Proxy<string[]>([], {
		get: () => {
			throw new Error("It was compared.");
		},
	});
	const found = [{ path: ["n".repeat(500_000)], isKnown: false, known }];
	expect(unknownError(found, "field", {})?.body.detail.length).toBeLessThan(200);
});
