import { expect, test } from "vitest";
import { useFolder } from "./audit_files.ts";
import { found, TAMPERINGS } from "./audit_tampering.ts";

useFolder();

const KINDS = Object.keys(TAMPERINGS);

test.each([...KINDS.entries()])(
	"of 200 tampered files, %i: %s is always found and named",
	async (of, kind) => {
		for (let seed = of; seed < 200; seed += KINDS.length)
			expect({ seed, ...(await found(seed, kind)) }).toEqual({ seed, ok: false, told: "named" });
	},
);

test("of 50 folders that nobody changed, none has a problem", async () => {
	for (let seed = 0; seed < 50; seed += 1)
		expect(await found(seed)).toEqual({ ok: true, told: "" });
});
