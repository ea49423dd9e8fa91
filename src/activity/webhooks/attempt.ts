import { sql } from "drizzle-orm";
import { v7 } from "uuid";
import { type Delivery, webhooks } from "../../db/schema/webhooks.ts";
import { now } from "../../lib/time.ts";
import { addressOf, retryAfter, sender } from "../../outbound/send.ts";
import { type EventRow, toEvent } from "../events/event.ts";
import { bodyOf, type SentEvent } from "./formats.ts";
import type { Endpoint } from "./secret.ts";

/** How long to wait for a response, in milliseconds. */
const TIMEOUT_MS = 15_000;

/** The stored attempt, and how long the endpoint asks to wait after it, in seconds. */
export type Attempt = { delivery: Delivery; retry_after: number | undefined };

/** Returns the headers of a message, signed with each secret (https://www.standardwebhooks.com). */
async function headersOf(id: string, payload: string, secrets: string[]) {
	const { Webhook } = await import("standardwebhooks");
	const at = new Date();
	return {
		"content-type": "application/json",
		"webhook-id": id,
		"webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
		"webhook-signature": secrets
			.map((secret) => new Webhook(secret).sign(id, at, payload))
			.join(" "),
	};
}

/** Returns a function that sends an event and never throws, with a DNS cache of its own. */
export function attempts(env: Env) {
	const { exchange } = sender(env, TIMEOUT_MS);

	/** Returns why the event wasn't delivered, for users; null if it was. */
	async function send({ url, format, secrets }: Endpoint, event: SentEvent) {
		const { signing, routing_key } = await secrets;
		const body = JSON.stringify(bodyOf(env.APP_URL, event, { format, routing_key }));
		const headers = await headersOf(event.id, body, signing);
		const request = new Request(url, { method: "POST", headers, body });
		const hidden = [...signing, ...(routing_key === null ? [] : [routing_key])];
		const response = await exchange(request, hidden, ({ ok }) => !ok);
		const { status } = response;
		if (status >= 200 && status < 300) return { status, error: null, retry_after: undefined };
		const error =
			status >= 300 && status < 400
				? `${addressOf(new URL(url))} answered ${status}: redirects are not followed.`
				: response.describe();
		return { status, error, retry_after: retryAfter(response.headers) };
	}

	return async function attempt(
		endpoint: Endpoint,
		row: EventRow,
		details: Pick<Delivery, "reason" | "attempt">,
	): Promise<Attempt> {
		const { origin, ...rest } = toEvent(row);
		const event = endpoint.has_origin ? { ...rest, origin } : rest;
		const start = Date.now();
		const { status, error, retry_after } = await send(endpoint, event).catch((error: unknown) => ({
			status: null,
			error: error instanceof Error ? error.message : String(error),
			retry_after: undefined,
		}));
		const delivery = {
			id: v7(),
			event_id: event.id,
			position: row.position,
			type: event.type,
			...details,
			status: error === null ? ("delivered" as const) : ("failed" as const),
			response_status: status,
			duration_ms: Date.now() - start,
			error,
			created_at: now(),
		};
		return { delivery, retry_after };
	};
}

/** The number of stored attempts per webhook. */
const MAX_DELIVERIES = 100;

/** SQL for a webhook's deliveries after some attempts. `made` has these in their order. */
export const withDeliveries = (made: Delivery[]) => sql<string>`(
	select json_group_array(json(value)) from (
		select value from json_each(${JSON.stringify(made.toReversed())})
		union all select value from json_each(${webhooks.deliveries})
		limit ${MAX_DELIVERIES}))`;
