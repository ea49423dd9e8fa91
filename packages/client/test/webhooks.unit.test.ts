import { Webhook } from "standardwebhooks";
import { afterEach, expect, test, vi } from "vitest";
import { TenantryError, verifyWebhook } from "../src/index.ts";

const SECRET = `whsec_${btoa("a secret of thirty-two bytes....")}`;
const OTHER = `whsec_${btoa("another secret, also 32 bytes...")}`;
const PAYLOAD = '{"type":"member.updated","data":{"name":"Zoë"}}';

afterEach(() => {
	vi.useRealTimers();
});

/** The headers that the standard's own library signs. */
function signed({ payload = PAYLOAD, secret = SECRET, id = "msg_1", at = new Date() } = {}) {
	return {
		"webhook-id": id,
		"webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
		"webhook-signature": new Webhook(secret).sign(id, at, payload),
	};
}

const code = (attempt: Promise<unknown>) =>
	attempt.then(
		() => "verified",
		(error: unknown) => (error instanceof TenantryError ? error.code : error),
	);

test("a signature of the standard's library is verified, for text and bytes, however headers are given", async () => {
	const headers = signed();
	const event = { type: "member.updated", data: { name: "Zoë" } };
	const bytes = new TextEncoder().encode(PAYLOAD);
	expect(await verifyWebhook(PAYLOAD, headers, SECRET)).toEqual(event);
	expect(await verifyWebhook(bytes, new Headers(headers), SECRET)).toEqual(event);
	const upper = Object.fromEntries(
		Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
	);
	expect(await verifyWebhook(PAYLOAD, upper, SECRET)).toEqual(event);
});

test("another payload, id, time or secret is refused", async () => {
	const headers = signed();
	const soon = String(Number(headers["webhook-timestamp"]) + 1);
	const attempts = [
		verifyWebhook(`${PAYLOAD} `, headers, SECRET),
		verifyWebhook(PAYLOAD, { ...headers, "webhook-id": "msg_2" }, SECRET),
		verifyWebhook(PAYLOAD, { ...headers, "webhook-timestamp": soon }, SECRET),
		verifyWebhook(PAYLOAD, headers, OTHER),
		verifyWebhook(PAYLOAD, { ...headers, "webhook-signature": "v1,?" }, SECRET),
		verifyWebhook(PAYLOAD, { ...headers, "webhook-signature": "v1," }, SECRET),
	];
	expect(await Promise.all(attempts.map(code))).toEqual(attempts.map(() => "signature_mismatch"));
});

test("one right signature among several is enough, for one of several secrets", async () => {
	const old = signed({ secret: OTHER })["webhook-signature"];
	const headers = signed();
	const both = { ...headers, "webhook-signature": `v2,abc ${old} ${headers["webhook-signature"]}` };
	expect(await code(verifyWebhook(PAYLOAD, both, SECRET))).toBe("verified");
	expect(await code(verifyWebhook(PAYLOAD, headers, [OTHER, SECRET]))).toBe("verified");
	const later = {
		...headers,
		"webhook-signature": headers["webhook-signature"].replace("v1", "v2"),
	};
	expect(await code(verifyWebhook(PAYLOAD, later, SECRET))).toBe("signature_mismatch");
});

test("a message is taken up to five minutes before and after its time", async () => {
	const now = new Date("2026-11-22T12:00:00Z");
	vi.useFakeTimers({ now });
	const at = (seconds: number) =>
		code(verifyWebhook(PAYLOAD, signed({ at: new Date(now.getTime() + seconds * 1000) }), SECRET));
	expect(await at(-300)).toBe("verified");
	expect(await at(300)).toBe("verified");
	expect(await at(-301)).toBe("timestamp_out_of_range");
	expect(await at(301)).toBe("timestamp_out_of_range");
	const headers = { ...signed({ at: now }), "webhook-timestamp": "soon" };
	expect(await code(verifyWebhook(PAYLOAD, headers, SECRET))).toBe("timestamp_out_of_range");
});

test("a message without one of the headers is refused", async () => {
	for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"])
		expect(await code(verifyWebhook(PAYLOAD, { ...signed(), [name]: undefined }, SECRET))).toBe(
			"missing_header",
		);
});

test("a secret that is none is the caller's mistake", async () => {
	const unset = process.env.NOT_SET as string;
	for (const secret of ["whsec_", "", unset, [unset]])
		await expect(verifyWebhook(PAYLOAD, signed(), secret)).rejects.toThrow(
			new TypeError("verifyWebhook needs the webhook's secret: base64, with or without whsec_."),
		);
});
