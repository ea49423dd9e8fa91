import { drizzle } from "drizzle-orm/d1";
import { deleteOlderThan } from "../../db/client.ts";
import { iso } from "../../db/now.ts";
import { signIns } from "../../db/schema/sign_in.ts";
import { MAIL_WINDOW_MS } from "./rules.ts";

/** Deletes sign-in links that no longer count against the limit of mails, at most 10,000. */
export const deleteOldLinks = async ({ DB }: Env, at: number) =>
	deleteOlderThan(drizzle(DB), signIns, signIns.id, signIns.created_at, iso(at - MAIL_WINDOW_MS));
