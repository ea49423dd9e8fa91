import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { routePath } from "hono/route";
import type { Kind } from "../db/event_types.ts";
import { insertEntries } from "../db/record.ts";
import type { Origin } from "../db/schema/origin.ts";
import type { App } from "../env.ts";
import { logWarning } from "../lib/log.ts";
import { Sums } from "../lib/sums.ts";
import { MINUTE_MS, now } from "../lib/time.ts";
import type { GuardRow } from "./guard.ts";
import { originOf } from "./origin.ts";

/*
 * Entries about requests that change nothing (docs/audit.md#what-isnt-a-change): denied ones,
 * downloads, and reads of the activity log. A request writes nothing. Each isolate adds them up, by
 * minute, key and operation, and writes the sums after the response, as it does with the use of keys.
 * The statement that writes them limits how many entries an organization and each of its members get
 * in a day, so nobody can fill a log. Requests of strangers are never noted.
 */

declare module "hono" {
	interface ContextVariableMap {
		/** What the guard has found of a member of the organization, even if it denies the request. */
		membership: GuardRow | undefined;
	}
}

type AccessKind = Extract<Kind, { scope: "Request" | "ActivityLog" }>;

type Sum = AccessKind & {
	organization_id: number;
	user_id: number;
	/** The method and path of the operation; empty for a read of the log. */
	operation: string;
	/** The start of the minute. */
	minute: string;
	count: number;
	/** That of the last request. */
	origin: Origin;
};

/** Returns what a request is noted as; undefined for most. */
function kindOf(c: Context<App>): AccessKind | undefined {
	const { status, headers } = c.res;
	if (status === 403) return { scope: "Request", activity: "denied" };
	if (status !== 200 && status !== 206) return undefined;
	// A HEAD downloads nothing.
	if (c.req.method === "GET" && headers.get("content-disposition")?.startsWith("attachment"))
		return { scope: "Request", activity: "downloaded" };
	return c.get("scope") === "activity_log:read"
		? { scope: "ActivityLog", activity: "read" }
		: undefined;
}

/** SQL for the number of such entries that the organization already got on this day. */
const ofDay = (where = sql`true`) => sql`(select count(*) from activity_log as noted
	where noted.organization_id = value ->> 'organization_id' and noted.item_id = value ->> 'item_id'
		and not noted.is_system and ${where})`;

/** SQL condition: nothing was revoked since, because a receipt says that no entry comes after it. */
const isStillThere = sql`exists (select 1 from members as m
	where m.organization_id = value ->> 'organization_id' and m.user_id = value ->> 'user_id')
	and exists (select 1 from personal_api_keys as k where k.id = value ->> 'key_id')`;

/** Writes the sums of members that have not reached the limits of the day. */
async function write({ DB, ACCESS_EVENTS_PER_DAY }: Env, sums: Sum[]) {
	const perDay = Number(ACCESS_EVENTS_PER_DAY);
	const counts = new Map<string, number>();
	const countUp = (name: string) => {
		const before = counts.get(name) ?? 0;
		counts.set(name, before + 1);
		return before;
	};
	const rows = sums.map(({ operation, minute, count, ...sum }) => {
		const item_id = minute.slice(0, 10);
		const name = operation || null;
		const trigger = operation ? { minute, count } : null;
		// How many rows before this one are about the same organization and member.
		const of_organization = countUp(`${sum.organization_id}`);
		const of_member = countUp(`${sum.organization_id} ${sum.user_id}`);
		const key_id = sum.origin.key?.id ?? null;
		return { ...sum, is_system: false, item_id, name, trigger, key_id, of_organization, of_member };
	});
	const isSame = sql`noted.user_id = value ->> 'user_id'`;
	const isRead = sql`noted.scope = 'ActivityLog' and ${isSame}`;
	const mayWrite = sql`${ofDay()} + (value ->> 'of_organization') < ${perDay}
		and ${ofDay(isSame)} + (value ->> 'of_member') < ${perDay / 3}
		and (value ->> 'scope' <> 'ActivityLog' or ${ofDay(isRead)} = 0)
		and ${isStillThere}`;
	await insertEntries(drizzle(DB), rows, mayWrite);
}

const sums = new Sums<Sum>({
	max: 500,
	maxAgeMs: MINUTE_MS,
	merge: (before, sum) => ({ ...sum, count: before.count + sum.count }),
	write,
	onError: (error) => logWarning("Access events were not written", error),
});

/** Notes a request after its response, if it is one of those that the log has. */
export function noteAccess(c: Context<App>) {
	const kind = kindOf(c);
	const member = c.get("membership");
	if (!kind || !member?.organization_id || !member.user_id) return;
	if (Number(c.env.ACCESS_EVENTS_PER_DAY) === 0) return;
	const isRead = kind.scope === "ActivityLog";
	const at = now();
	const sum = {
		...kind,
		organization_id: member.organization_id,
		user_id: member.user_id,
		operation: isRead ? "" : `${c.req.method} ${routePath(c)}`,
		minute: `${at.slice(0, 16)}:00.000Z`,
		count: 1,
		origin: originOf(c),
	};
	const period = isRead ? at.slice(0, 10) : sum.minute;
	const name = [period, kind.activity, sum.organization_id, sum.origin.key?.id, sum.operation];
	sums.add(name.join(" "), sum);
	sums.writeLater(c, Number(c.env.USAGE_FLUSH_SECONDS) * 1000);
}
