import { and, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { createMiddleware } from "hono/factory";
import { v7 } from "uuid";
import { scimRequests } from "../../../db/schema/scim.ts";
import type { App } from "../../../env.ts";
import { logWarning } from "../../../lib/log.ts";
import { shorten } from "../../../lib/text.ts";

/** How many requests are kept for each domain, and how much of each text. */
const MAX_REQUESTS = 200;
const MAX_CHARACTERS = 4_000;
const MAX_IGNORED = 50;

const SECRET = /password|secret|token|authorization/i;

/** Returns JSON without the values of secrets, cut to a few KB. */
function shown(text: string | undefined) {
	if (!text) return null;
	let json: string;
	try {
		json = JSON.stringify(JSON.parse(text), (key, value: unknown) =>
			SECRET.test(key) ? "********" : value,
		);
	} catch {
		json = "(not JSON)";
	}
	return shorten(json, MAX_CHARACTERS);
}

type Row = Omit<typeof scimRequests.$inferInsert, "id">;

/** Adds a request, and deletes the oldest ones. */
async function insert({ DB }: Env, row: Row) {
	const db = drizzle(DB);
	const { domain_id, id } = scimRequests;
	const isOfDomain = eq(domain_id, row.domain_id);
	const newest = sql`(select ${id} from ${scimRequests} where ${isOfDomain} order by ${id} desc limit 1 offset ${MAX_REQUESTS})`;
	await db.batch([
		db.insert(scimRequests).values({ ...row, id: v7() }),
		db.delete(scimRequests).where(and(isOfDomain, sql`${id} <= ${newest}`)),
	]);
}

/**
 * Keeps the latest requests of a domain, for those who set it up (docs/sign-on.md#the-last-requests).
 * It is written after the response, so it costs no request time. Requests whose token isn't the
 * domain's aren't kept: strangers could fill the list.
 */
export const keepRequests = createMiddleware<App>(async (c, next) => {
	await next();
	const { directory } = c.var;
	if (!directory.isKnown) return;
	const request = c.req.bodyCache.arrayBuffer ? await c.req.text() : undefined;
	const { search } = new URL(c.req.url);
	const row = {
		domain_id: directory.domain_id,
		method: c.req.method,
		path: `${c.req.path.replace(/^\/scim\/v2\/[^/]+/, "")}${search}`.slice(0, MAX_CHARACTERS),
		status: c.res.status,
		request: shown(request),
		response: shown(c.get("compact")?.text),
		ignored: c.res.status < 400 ? (c.var.ignored ?? []).slice(0, MAX_IGNORED) : [],
	};
	const write = insert(c.env, row).catch((error: unknown) =>
		logWarning("A SCIM request was not kept", error),
	);
	directory.later(write);
});
