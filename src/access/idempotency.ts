import { and, eq, gt, lt, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { Database } from "../db/client.ts";
import { idempotencyKeys } from "../db/schema/idempotency_keys.ts";
import { ADMIN } from "../db/schema/levels.ts";
import { projects } from "../db/schema/organizations.ts";
import { members } from "../db/schema/people.ts";
import type { App } from "../env.ts";
import { bytesOf } from "../http/body.ts";
import {
	idempotencyKeyInUse,
	idempotencyKeyReused,
	invalid,
	outcomeUnknown,
	Replay,
} from "../http/errors.ts";
import { digest } from "../keys/keys.ts";
import { cipherOf } from "../keys/secrets.ts";
import { logWarning } from "../lib/log.ts";
import { DAY_MS, iso, MINUTE_MS, now } from "../lib/time.ts";
import type { Caller } from "./guard.ts";
import { type Access, accessOf, type Holder, hasAccess } from "./key_access.ts";
import { visibleTo } from "./visible.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** Undefined without an `Idempotency-Key`. */
		idempotency: Idempotency | undefined;
	}
}

/** What the guard has found of the caller where the request acts, besides the key. */
type Membership = {
	level: number;
	/** The digest of the access controls that apply; null for those who may do everything. */
	controls: string | null;
};

/** The organization and the project of the entries of a change. */
type About = { organization?: number; project?: number };

/** The caller. An invitation is accepted by somebody who isn't a member yet. */
type Known = Holder &
	Partial<
		Pick<
			Caller,
			| "level"
			| "own_access"
			| "everyone_access"
			| "access_control"
			| "organization_id"
			| "project_id"
		>
	>;

async function membershipOf({ level = 0, ...row }: Known): Promise<Membership> {
	const { own_access, everyone_access, access_control } = row;
	const controls = JSON.stringify([own_access, everyone_access, access_control]);
	return { level, controls: level < ADMIN ? await digest(controls) : null };
}

/** Whether the caller may do no less than the one of the first request. */
const mayAsMuch = (caller: Membership, first: Membership) =>
	caller.level >= first.level && (caller.controls === null || caller.controls === first.controls);

/** Longer than a request takes. After this time, one without a stored response has ended. */
const LEASE_MS = MINUTE_MS;

/** Response headers that belong to the current request, so they aren't stored. */
const RESPONSE_ONLY = /^(x-request-id|vary|preference-applied|ratelimit-policy|access-control-.*)$/;

const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a POST, which is executed once (docs/api.md#safe-retries). The batch of
 * the change inserts a row for the key, so either both exist or neither does. The response is added
 * to the row after the client got it.
 */
export class Idempotency {
	readonly #c: Context<App>;
	readonly #key: string;
	/** The digest of method, path and body. */
	#fingerprint = "";
	/** The access of the API key that the request has. */
	#access: Access | undefined;
	#bodyError: unknown;
	/** The access of the caller below the level, and the levels. */
	#membership: Membership | undefined;
	/** Whether the change was made, and with it the key's row. */
	isWritten = false;
	/** What the change was about, if the path doesn't name it. */
	about: About = {};

	constructor(c: Context<App>, key: string) {
		this.#c = c;
		this.#key = key;
	}

	get #cipher() {
		const { user_id } = this.#c.var.key;
		return cipherOf(this.#c.env, "idempotency_keys", JSON.stringify([user_id, this.#key]));
	}

	/** WHERE clause: the row of this key, which may have expired. */
	get #byKey() {
		const { user_id, key } = idempotencyKeys;
		return and(eq(user_id, this.#c.var.key.user_id), eq(key, this.#key));
	}

	/** Reads the body, so that `check` can compare the request with the one that used the key. */
	async readRequest() {
		const { method, url } = this.#c.req;
		const { pathname, search } = new URL(url);
		const body = await bytesOf(this.#c).catch((error: unknown) => {
			this.#bodyError = error;
			return new Uint8Array();
		});
		const path = pathname.replace(/(?<!\/)\/+$/, "") + search;
		const bytes = Buffer.from(body).toString("base64");
		this.#fingerprint = await digest(JSON.stringify([method, path, bytes]));
	}

	/** Returns the statement that finds the key's row, for the batch of the guard. */
	lookUp(db: Database) {
		const isCurrent = gt(idempotencyKeys.created_at, iso(Date.now() - DAY_MS));
		return db.select().from(idempotencyKeys).where(and(this.#byKey, isCurrent));
	}

	/**
	 * Ends the request if the `Idempotency-Key` was used before. A stored response can contain a
	 * secret, so an API key gets it only if it has all the access of the first one, and if its person
	 * hasn't lost any.
	 * @throws the stored response; 400 for an invalid key or the key of another request; 409 if the
	 * first request is in progress, or has ended without a stored response
	 */
	async check(caller: Known, row: typeof idempotencyKeys.$inferSelect | undefined) {
		if (this.#bodyError) throw this.#bodyError;
		this.#access = accessOf(caller);
		this.#membership = await membershipOf(caller);
		if (!KEY.test(this.#key))
			throw invalid(null, "Idempotency-Key must have 1 to 255 printable ASCII characters.");
		if (!row) return;
		if (row.fingerprint !== this.#fingerprint) throw idempotencyKeyReused();
		if (row.response === null)
			throw row.lease_expires_at > now() ? idempotencyKeyInUse() : outcomeUnknown();
		const stored = await this.#cipher.unseal("response", row.response);
		const { access, membership = this.#membership, about = {}, ...response } = JSON.parse(stored);
		const isAllowed =
			(await hasAccess(caller, access)) &&
			mayAsMuch(this.#membership, membership) &&
			(await this.#mayView(caller, about));
		if (!isAllowed) throw idempotencyKeyReused();
		throw new Replay(response);
	}

	/** Whether the caller can still view what a change was about that the path doesn't name. */
	async #mayView(
		{ organization_id, project_id, level = 0 }: Known,
		{ organization, project }: About,
	) {
		const isElsewhere = organization !== undefined && organization !== organization_id;
		// Admins can view all projects of the organization in the path.
		const isOther = project !== undefined && project !== project_id;
		const isUnknown = isOther && (isElsewhere || level < ADMIN);
		const { user_id } = this.#c.var.key;
		const isMember = sql`exists (select 1 from ${members} where ${and(eq(members.organization_id, sql`${organization}`), eq(members.user_id, user_id))})`;
		const isOpen = sql`exists (select 1 from ${projects} where ${and(eq(projects.id, sql`${project}`), visibleTo(user_id))})`;
		const conditions = [...(isElsewhere ? [isMember] : []), ...(isUnknown ? [isOpen] : [])];
		if (conditions.length === 0) return true;
		const [row] = await drizzle(this.#c.env.DB)
			.select({ may: sql<number>`${and(...conditions)}` })
			.from(sql`(select 1)`);
		return row?.may === 1;
	}

	/** Returns statements that insert the key's row. They fail if another request has the key. */
	#insert(db: Database, row: { lease_expires_at: string; response?: string }) {
		const { user_id } = this.#c.var.key;
		const hasExpired = lte(idempotencyKeys.created_at, iso(Date.now() - DAY_MS));
		return [
			db.delete(idempotencyKeys).where(and(this.#byKey, hasExpired)),
			db
				.insert(idempotencyKeys)
				.values({ user_id, key: this.#key, fingerprint: this.#fingerprint, ...row }),
		] as const;
	}

	/**
	 * Returns statements for the batch of a change, which fails if another request has the key.
	 * @throws 400 if the response couldn't be encrypted
	 */
	async takeLease(db: Database) {
		await this.#cipher.seal("response", "");
		return this.#insert(db, { lease_expires_at: iso(Date.now() + LEASE_MS) });
	}

	/** Stores the response, unless it is a 5xx, or a 4xx before anything was written. */
	async store({ status, headers }: Response) {
		const db = drizzle(this.#c.env.DB);
		const ended = { lease_expires_at: now() };
		if (status >= 400 && !this.isWritten) return;
		if (status >= 500) {
			await db.update(idempotencyKeys).set(ended).where(this.#byKey);
			return;
		}
		const stored = {
			status,
			headers: [...headers].filter(([name]) => !RESPONSE_ONLY.test(name)),
			body: this.#c.get("compact")?.text ?? null,
			access: this.#access,
			membership: this.#membership,
			about: this.about,
		};
		const response = await this.#cipher.seal("response", JSON.stringify(stored));
		if (this.isWritten) {
			await db
				.update(idempotencyKeys)
				.set({ ...ended, response })
				.where(this.#byKey);
			return;
		}
		const [deletion, insertion] = this.#insert(db, { ...ended, response });
		await db.batch([deletion, insertion.onConflictDoNothing()]);
	}
}

/** Executes a POST with an API key and an `Idempotency-Key` once (docs/api.md#safe-retries). */
export const safeRetries = createMiddleware<App>(async (c, next) => {
	const isPost = c.req.method === "POST" && c.get("key") !== undefined;
	const key = isPost ? c.req.header("idempotency-key") : undefined;
	if (key === undefined) return next();
	const idempotency = new Idempotency(c, key);
	c.set("idempotency", idempotency);
	await next();
	if (c.error instanceof Replay) return;
	const lost = (error: unknown) => logWarning("The response to a POST was not stored", error);
	c.executionCtx.waitUntil(idempotency.store(c.res).catch(lost));
});

/** Deletes up to 100,000 idempotency keys older than a day, hourly, since it reads all. */
export const deleteExpiredKeys = async ({ DB }: Env) => {
	const before = iso(Date.now() - DAY_MS);
	const old = sql`select user_id, key from ${idempotencyKeys} where ${lt(idempotencyKeys.created_at, before)} limit 100000`;
	await drizzle(DB).delete(idempotencyKeys).where(sql`(user_id, key) in (${old})`);
};
