/** Verifies webhooks (https://www.standardwebhooks.com). */
import { TenantryError } from "./errors.ts";
import type { FeedEvent } from "./generated.ts";

/**
 * The body of a webhook's request: an event of the organization, or the one that `webhooks.test`
 * sends.
 */
export type WebhookEvent = FeedEvent | (Omit<FeedEvent, "type"> & { type: "webhook.test" });

type HeadersLike = Headers | Record<string, string | string[] | undefined>;

const TOLERANCE_SECONDS = 300;

function headerOf(headers: HeadersLike, name: string) {
	if (headers instanceof Headers) return headers.get(name);
	const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
	return [value].flat()[0] ?? null;
}

const webhookError = (code: string, detail: string) =>
	new TenantryError({ type: "webhook_error", code, detail });

const encoder = new TextEncoder();

/** Decodes base64. Returns no bytes if the text is invalid. */
function bytesOf(base64: string) {
	try {
		return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
	} catch {
		return new Uint8Array();
	}
}

function keyOf(secret: string) {
	// JavaScript programs can pass an environment variable that isn't set.
	const bytes = bytesOf(`${secret ?? ""}`.replace(/^whsec_/, ""));
	if (bytes.length === 0)
		throw new TypeError(
			"verifyWebhook needs the webhook's secret: base64, with or without whsec_.",
		);
	return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [
		"verify",
	]);
}

/** Returns the signed content: `id.timestamp.payload`. */
function signedOf(id: string, timestamp: string, payload: string | Uint8Array) {
	const start = encoder.encode(`${id}.${timestamp}.`);
	const end = typeof payload === "string" ? encoder.encode(payload) : payload;
	const all = new Uint8Array(start.length + end.length);
	all.set(start);
	all.set(end, start.length);
	return all;
}

/**
 * Returns the event in the body of a webhook, after checking that its signature is valid and that
 * it is at most five minutes old. Signatures are compared in constant time.
 * @param payload the raw body, before parsing
 * @param secret the secret of the webhook (`whsec_…`); while you roll it, several
 * @throws {TenantryError} `type` is `webhook_error`; `code` is `missing_header`,
 * `timestamp_out_of_range` or `signature_mismatch`
 */
export async function verifyWebhook(
	payload: string | Uint8Array,
	headers: HeadersLike,
	secret: string | readonly string[],
): Promise<WebhookEvent> {
	const id = headerOf(headers, "webhook-id");
	const timestamp = headerOf(headers, "webhook-timestamp");
	const signatures = headerOf(headers, "webhook-signature");
	if (!id || !timestamp || !signatures)
		throw webhookError(
			"missing_header",
			"The webhook-id, -timestamp or -signature header is missing.",
		);
	const age = Math.abs(Date.now() / 1000 - Number(timestamp));
	if (!/^\d+$/.test(timestamp) || age > TOLERANCE_SECONDS)
		throw webhookError(
			"timestamp_out_of_range",
			"The webhook's timestamp is more than 5 minutes away from now.",
		);
	const keys = await Promise.all([secret].flat().map(keyOf));
	const signed = signedOf(id, timestamp, payload);
	for (const signature of signatures.split(" ")) {
		const [version, base64 = ""] = signature.split(",");
		if (version !== "v1") continue;
		for (const key of keys)
			if (await crypto.subtle.verify("HMAC", key, bytesOf(base64), signed))
				return JSON.parse(
					typeof payload === "string" ? payload : new TextDecoder().decode(payload),
				);
	}
	throw webhookError("signature_mismatch", "The webhook has no valid signature.");
}
