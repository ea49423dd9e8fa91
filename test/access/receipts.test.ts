import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { signingKeys } from "../../src/db/schema/signing_keys.ts";
import { entries } from "../support/activity.ts";
import { call, cost, db, world } from "../support/world.ts";
import { KINDS, prefer, race, receiptOf } from "./receipts.ts";

describe.each(Object.entries(KINDS))("the revocation of %s", (_, make) => {
	test("has a signed receipt that names its entry", async () => {
		const home = await world();
		const subject = await make(home);
		const { position, entry_id, response } = await receiptOf(subject, home);
		const [entry] = await entries(eq(activityLog.position, position));
		expect([entry?.id, entry?.activity]).toEqual([
			entry_id,
			expect.stringMatching(/^(deleted|revoked)$/),
		]);
		expect(cost(response).trips).toBeLessThanOrEqual(3);
		const { status } = await call("PATCH", `/api/projects/${home.project}`, {
			key: subject.value,
			body: { name: "Late" },
		});
		expect(status).toBeGreaterThanOrEqual(401);
		const again = { key: subject.by ?? home.owner.key, ...prefer("receipt") };
		expect((await call("DELETE", subject.path, again)).headers.get("preference-applied")).toBe(
			null,
		);
	});

	test("is a 204 without the preference, and where the service can't sign", async () => {
		const home = await world();
		for (const [headers, overrides] of [
			[{}, {}],
			[{ prefer: "return=minimal, receipts" }, {}],
			[{ prefer: "receipt" }, { SECRETS_KEY: "" }],
		]) {
			const { path, by = home.owner.key } = await make(home);
			const options = { key: by, headers: { ...headers }, env: { ...env, ...overrides } };
			const { status, body, headers: received } = await call("DELETE", path, options);
			expect([status, body, received.get("preference-applied")]).toEqual([204, null, null]);
		}
	});
});

test.each(["a member", "a key"])(
	"the revocation of %s is after all that was accepted from requests at the same time",
	async (kind) => {
		expect((await race(kind, 60)).accepted).toBeGreaterThanOrEqual(15);
	},
);

test("a receipt costs no round trip more, except the first, which makes the key", async () => {
	const home = await world();
	const revoke = async (headers: Record<string, string>) => {
		const subject = await KINDS["a key"]?.(home);
		return cost(await call("DELETE", String(subject?.path), { key: home.owner.key, headers }));
	};
	const plain = await revoke({});
	await db.delete(signingKeys);
	expect((await revoke({ prefer: "receipt" })).trips).toBe(plain.trips);
	const { trips, written } = await revoke({ prefer: "foo, Receipt; x=1" });
	expect({ trips, written }).toEqual({ trips: plain.trips, written: plain.written });
});
