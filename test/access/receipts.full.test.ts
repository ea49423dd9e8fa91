import { expect, test } from "vitest";
import { KINDS, race } from "./receipts.ts";

test.each(Object.keys(KINDS))(
	"of 1,000 requests at the same time, none is accepted after the revocation of %s",
	async (kind) => {
		expect((await race(kind, 1000)).accepted).toBeGreaterThanOrEqual(250);
	},
);
