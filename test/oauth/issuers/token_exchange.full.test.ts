import { expect, test } from "vitest";
import { statusWith } from "../support.ts";
import { keyOf, rejected, trusting, trustingRsa } from "./support.ts";

test.each(["PS256", "EdDSA"])("a token that is signed with %s is exchanged", async (alg) => {
	const home = await trusting();
	await home.rotate(alg);
	expect(await statusWith(await keyOf(home))).toBe(200);
});

test("a token is rejected if the issuer's key isn't one", async () => {
	const home = await trustingRsa({ n: "!" });
	await expect(keyOf(home)).rejects.toMatchObject(rejected("key that can't be used"));
});
