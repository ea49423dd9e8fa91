import { drizzle } from "drizzle-orm/d1";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { isDue } from "./state.ts";

/**
 * Runs every minute: if a stream is due, sends a message, so that the streams are delivered in a separate invocation
 * (docs/internals/scale.md#what-one-tick-does). If the message is lost, the next tick sends another.
 */
export async function tick({ DB, DELIVERIES }: Env, at: number) {
	const due = await drizzle(DB)
		.select({ id: auditStreams.id })
		.from(auditStreams)
		.where(isDue(at))
		.limit(1);
	if (due.length > 0) await DELIVERIES.send({ audit_streams: at });
}
