import { drizzle } from "drizzle-orm/d1";
import { deleteOlderThan } from "../db/client.ts";
import { iso } from "../db/now.ts";
import { inviteMails } from "../db/schema/invites.ts";
import { MAIL_RECORD_MS } from "./limits.ts";

/** Deletes the records of invite mails that no longer count against a limit, at most 10,000. */
export const tick = async ({ DB }: Env, at: number) =>
	deleteOlderThan(
		drizzle(DB),
		inviteMails,
		inviteMails.sent_at,
		inviteMails.sent_at,
		iso(at - MAIL_RECORD_MS),
	);
