import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test, vi } from "vitest";
import { signingKeys } from "../../src/db/schema/signing_keys.ts";
import { rotateSigningKeys, selectSigner, sign } from "../../src/keys/signing_keys.ts";
import worker from "../../src/worker.ts";
import { checked, decoded } from "../support/jws.ts";
import { published } from "../support/published.ts";
import { db } from "../support/world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

beforeEach(async () => {
	await db.delete(signingKeys);
});

/** Signs at a time, and returns the id of the key. */
async function signs(at = Date.now(), on: Env = env) {
	vi.setSystemTime(at);
	const [signer] = await selectSigner(db);
	const jws = await sign(on, signer, "audit-head+jwt", { at });
	expect((await checked(jws, (await published()).set)).claims).toMatchObject({ at });
	return String(decoded(jws).header.kid);
}

const rows = (algorithm = "EdDSA") =>
	db
		.select()
		.from(signingKeys)
		.where(eq(signingKeys.algorithm, algorithm))
		.orderBy(signingKeys.signs_from);

test("reading the keys makes none, and the first of twenty signatures at once makes one", async () => {
	const { status, headers, set: none } = await published();
	expect([status, headers.get("cache-control"), none]).toEqual([200, null, { keys: [] }]);
	expect(await rows()).toEqual([]);
	const used = await Promise.all(Array.from({ length: 20 }, () => signs()));
	expect(new Set(used).size).toBe(1);
	const { headers: cached, set } = await published();
	expect(cached.get("cache-control")).toBe("public, max-age=3600");
	expect(cached.get("access-control-allow-origin")).toBe("*");
	expect(set.keys).toEqual([
		{
			kty: "OKP",
			crv: "Ed25519",
			x: expect.stringMatching(/^[\w-]{43}$/),
			kid: used[0],
			alg: "EdDSA",
			use: "sig",
			nbf: expect.any(Number),
		},
	]);
});

test("the database has no private key that can be read", async () => {
	await signs();
	const [row] = await rows();
	expect(row?.private_key).toMatch(/^sealed:/);
	expect(JSON.stringify([row?.public_key, (await published()).set])).not.toContain('"d"');
});

test("the next key is published a day before it signs, and old ones stay published", async () => {
	const start = Date.UTC(2030, 0, 1);
	vi.setSystemTime(start);
	await Promise.all([1, 2, 3].map(() => rotateSigningKeys(env, start)));
	const first = await signs(start);
	const tick = async (at: number) => {
		vi.setSystemTime(at);
		await Promise.all([1, 2, 3].map(() => rotateSigningKeys(env, at)));
		return (await published()).set;
	};
	expect((await tick(start + 89 * DAY - 1)).keys).toHaveLength(1);
	const { keys } = await tick(start + 89 * DAY);
	const from = (start + 90 * DAY) / 1000;
	const next = keys[0].kid;
	expect(keys).toEqual([
		expect.objectContaining({ nbf: from }),
		expect.objectContaining({ kid: first, nbf: start / 1000, exp: from }),
	]);
	expect(keys[0]).not.toHaveProperty("exp");
	expect(await signs(start + 90 * DAY - 1)).toBe(first);
	expect(await signs(start + 90 * DAY)).toBe(next);
	await tick(start + 90 * DAY + HOUR);
	expect((await rows())[0]?.private_key).toMatch(/^sealed:/);
	expect((await tick(start + 90 * DAY + HOUR + 1)).keys).toHaveLength(2);
	expect((await rows()).map(({ private_key }) => private_key !== null)).toEqual([false, true]);
	// Nobody is late: without a tick, the last key keeps signing.
	expect(await signs(start + 900 * DAY)).toBe(next);
});

test("each full hour, the schedule makes the key before something is signed", async () => {
	const scheduledTime = Math.ceil(Date.now() / HOUR) * HOUR;
	const tick = (time: number) =>
		worker.scheduled({ scheduledTime: time, cron: "* * * * *", noRetry() {} }, env);
	await tick(scheduledTime + 60_000);
	expect(await rows()).toEqual([]);
	await tick(scheduledTime);
	expect(await rows()).toHaveLength(1);
	expect(await rows("RS256")).toHaveLength(1);
	const unset = { ...env, SECRETS_KEY: "" };
	await db.delete(signingKeys);
	await rotateSigningKeys(unset, scheduledTime);
	expect(await rows()).toEqual([]);
});

test("a key that can't be decrypted any more is replaced, and stays published", async () => {
	const lost = await signs();
	const other = { ...env, SECRETS_KEY: btoa("n".repeat(32)) };
	const error = vi.spyOn(console, "error").mockImplementation(() => {});
	const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
	const made = await Promise.all([signs(Date.now(), other), signs(Date.now(), other)]);
	expect(error.mock.calls.length + warn.mock.calls.length).toBeGreaterThan(0);
	expect(new Set(made).size).toBe(1);
	expect(made[0]).not.toBe(lost);
	const { keys } = (await published()).set;
	expect(keys.map(({ kid }: { kid: string }) => kid).sort()).toEqual([lost, made[0]].sort());
});
