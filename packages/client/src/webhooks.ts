/** Checks signatures of webhooks (https://www.standardwebhooks.com). */
import { TenantryError } from "./errors.ts";

type HeadersLike = Headers | Record<string, string | string[] | undefined>;

const TOLERANCE_SECONDS = 300;

function headerOf(headers: HeadersLike, name: string) {
	if (headers instanceof Headers) return headers.get(name);
	const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
	return [value].flat()[0] ?? null;
}

const refusal = (code: string, detail: string) =>
	new TenantryError({ type: "webhook_error", code, detail });

const encoder = new TextEncoder();

/** Bytes of base64; none if it isn't any. */
function bytesOf(base64: string) {
	try {
		return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
	} catch {
		return new Uint8Array();
	}
}

function keyOf(secret: string) {
	const bytes = bytesOf(secret.replace(/^whsec_/, ""));
	if (bytes.length === 0) throw new TypeError("A webhook's secret is whsec_ and base64.");
	return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [
		"verify",
	]);
}

/** Joins `id.timestamp.payload`, the text that is signed. */
function signedOf(id: string, timestamp: string, payload: string | Uint8Array) {
	const start = encoder.encode(`${id}.${timestamp}.`);
	const end = typeof payload === "string" ? encoder.encode(payload) : payload;
	const all = new Uint8Array(start.length + end.length);
	all.set(start);
	all.set(end, start.length);
	return all;
}

/**
 * Checks that a webhook comes from the service and is at most five minutes old, and returns its
 * parsed body. The comparison takes the same time whatever the signature.
 * @param payload the body as it came, not parsed
 * @param secret the endpoint's secret (`whsec_…`); several while it is being rolled
 * @throws {TenantryError} `type` is `webhook_error`; `code` is `missing_header`, `timestamp_out_of_range` or `signature_mismatch`
 */
export async function verifyWebhook<Event = unknown>(
	payload: string | Uint8Array,
	headers: HeadersLike,
	secret: string | readonly string[],
): Promise<Event> {
	const id = headerOf(headers, "webhook-id");
	const timestamp = headerOf(headers, "webhook-timestamp");
	const signatures = headerOf(headers, "webhook-signature");
	if (!id || !timestamp || !signatures)
		throw refusal("missing_header", "The webhook-id, -timestamp or -signature header is missing.");
	const age = Math.abs(Date.now() / 1000 - Number(timestamp));
	if (!/^\d+$/.test(timestamp) || age > TOLERANCE_SECONDS)
		throw refusal("timestamp_out_of_range", "The webhook's timestamp is more than 5 minutes off.");
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
	throw refusal("signature_mismatch", "No signature of the webhook is right.");
}
