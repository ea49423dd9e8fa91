import { drizzle } from "drizzle-orm/d1";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { isDue } from "../../delivery/lease.ts";

/** Sends a message if a stream is due, whose delivery has an invocation of its own. */
export async function enqueueDueStreams({ DB, DELIVERIES }: Env, at: number) {
	const due = await drizzle(DB)
		.select({ id: auditStreams.id })
		.from(auditStreams)
		.where(isDue(auditStreams, at))
		.limit(1);
	if (due.length > 0) await DELIVERIES.send({ audit_streams: at });
}
