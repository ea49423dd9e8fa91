import { lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inviteMails } from "../../db/schema/people.ts";
import { iso } from "../../lib/time.ts";
import { MAIL_RECORD_MS } from "./limits.ts";

/** Deletes mails that no longer count against a limit, hourly, since it reads all. */
export const deleteOld = async ({ DB }: Env, at: number) =>
	drizzle(DB)
		.delete(inviteMails)
		.where(lt(inviteMails.sent_at, iso(at - MAIL_RECORD_MS)));
