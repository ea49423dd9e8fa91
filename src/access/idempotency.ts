import { and, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { v7 } from "uuid";
import { digest } from "../auth/keys.ts";
import { cipherOf } from "../auth/secrets.ts";
import { assertThat } from "../db/assertion.ts";
import { type Database, insertWhere } from "../db/client.ts";
import { iso, now } from "../db/now.ts";
import { idempotencyKeys } from "../db/schema/idempotency_keys.ts";
import { jsonOf } from "../db/snapshot.ts";
import type { App } from "../env.ts";
import { bytesOf } from "../http/body.ts";
import { idempotencyKeyInUse, idempotencyKeyReused, invalid, Replay } from "../http/errors.ts";
import { DAY_MS, MINUTE_MS } from "../lib/durations.ts";
import { logWarning } from "../lib/log.ts";
import { type Access, accessOf, type Holder, hasAccess } from "./access.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** Undefined without an `Idempotency-Key`. */
		idempotency: Idempotency | undefined;
	}
}

/*
 * Executes a POST with an Idempotency-Key once (docs/api.md#safe-retries).
 *
 * The batch of the change also inserts a row for the key, so either both exist or neither does. If
 * another request's batch comes later, it fails on an assertion. The response is known only after
 * the batch, so it is added to the row after the client got it. In case the process is killed
 * before that, the row contains what the request had read, the values it had generated (`once`),
 * and the rows for its response. A retry then runs the handler with these instead of the database.
 * It returns the same response without making the change again.
 */

type Statement = BatchItem<"sqlite">;
type Row = typeof idempotencyKeys.$inferSelect;

/** What a request has read and generated, in order. */
type Journal = { reads: unknown[][]; made: unknown[] };

/**
 * How long a request without a stored response counts as in progress. The runtime would have killed
 * it much earlier.
 */
const UNDER_WAY_MS = MINUTE_MS;

/** Response headers that belong to the current request, so they aren't stored. */
const NOT_STORED = /^(x-request-id|vary|ratelimit-policy|access-control-.*)$/;

const KEY = /^[\x20-\x7e]{1,255}$/;

/** The `Idempotency-Key` of a request. */
export class Idempotency {
	readonly #c: Context<App>;
	readonly #key: string;
	readonly #journal: Journal = { reads: [], made: [] };
	/** The data of the killed request, if this one takes over. */
	#killed: { journal: Journal; rows: string } | undefined;
	/** The digest of method, path and body. */
	#fingerprint = "";
	/** The access of the API key that the request has. */
	#access: Access | undefined;
	#bodyError: unknown;
	/** The id of the row that this request writes. */
	#id = v7();
	/** Whether a batch with the key's row has been sent. */
	#isWritten = false;

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

	/** WHERE clause: the row that this request writes. */
	get #own() {
		return and(this.#byKey, eq(idempotencyKeys.id, this.#id));
	}

	/**
	 * WHERE clause: the caller's row for this key. Rows older than a day are ignored until they are
	 * deleted.
	 */
	get #its() {
		return and(this.#byKey, gt(idempotencyKeys.created_at, iso(Date.now() - DAY_MS)));
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
		return db.select().from(idempotencyKeys).where(this.#its);
	}

	/**
	 * Ends the request if the `Idempotency-Key` was used before. A stored response can contain a secret, such as the value of a new
	 * API key, so an API key gets it only if it has all the access of the first one.
	 * @throws the stored response; 400 for an invalid key or the key of another request; 409 if the
	 * first request is in progress
	 */
	async check(db: Database, holder: Holder, row: Row | undefined) {
		if (this.#bodyError) throw this.#bodyError;
		this.#access = accessOf(holder);
		if (!KEY.test(this.#key))
			throw invalid(null, "Idempotency-Key must have 1 to 255 printable ASCII characters.");
		if (!row) return;
		if (row.fingerprint !== this.#fingerprint) throw idempotencyKeyReused();
		const { access, ...stored } = JSON.parse(
			row.answer
				? await this.#cipher.unseal("answer", row.answer)
				: await this.#cipher.unseal("journal", row.journal ?? ""),
		);
		if (!(await hasAccess(holder, access))) throw idempotencyKeyReused();
		if (row.answer) throw new Replay(stored);
		await this.#takeOver(db, row, stored);
	}

	/** Continues where the request that wrote the row was killed; 409 if it may still be running. */
	async #takeOver(db: Database, { id, under_way_until, rows }: Row, journal: Journal) {
		const wait = Date.parse(under_way_until) - Date.now();
		// A second is enough for a request that has already written.
		if (wait > 0) throw idempotencyKeyInUse(1);
		const [claimed] = await db.batch([
			db
				.update(idempotencyKeys)
				.set({ under_way_until: iso(Date.now() + UNDER_WAY_MS) })
				.where(
					and(
						this.#byKey,
						eq(idempotencyKeys.id, id),
						eq(idempotencyKeys.under_way_until, under_way_until),
					),
				)
				.returning({ id: idempotencyKeys.id }),
		]);
		if (claimed.length === 0) throw idempotencyKeyInUse(1);
		this.#killed = { journal, rows: rows ?? "[]" };
		this.#id = id;
		this.#isWritten = true;
	}

	/** Returns the results of a read, or those that the killed request got. */
	read<T>(answers: T[]): T[] {
		const i = this.#journal.reads.push(answers) - 1;
		const before: T[] | undefined =
			this.#killed && JSON.parse(JSON.stringify(this.#killed.journal.reads))[i];
		return before ?? answers;
	}

	/**
	 * Returns a value that is generated once: a request that takes over gets the value of the killed
	 * one.
	 */
	async once<T>(make: () => T | Promise<T>): Promise<T> {
		const { made } = this.#journal;
		const i = made.push(null) - 1;
		const before = this.#killed?.journal.made;
		if (before && i < before.length) return JSON.parse(JSON.stringify(before[i]));
		const value = await make();
		made[i] = value;
		return value;
	}

	/** Whether the change was made by the killed request. */
	get isDone() {
		return this.#killed !== undefined;
	}

	/** The rows for the response, as JSON. */
	get rows() {
		return this.#killed?.rows ?? "[]";
	}

	/**
	 * Returns statements for the batch of a change: the first makes the batch fail if another request
	 * was faster, the last inserts the key's row.
	 * @param changed SQL condition: the change changed a row. If it didn't, the key can be used
	 * again.
	 */
	async statements(db: Database, answer: Statement | undefined, changed: SQL) {
		const { user_id } = this.#c.var.key;
		const row = {
			id: this.#id,
			user_id,
			key: this.#key,
			fingerprint: this.#fingerprint,
			under_way_until: iso(Date.now() + UNDER_WAY_MS),
			journal: await this.#cipher.seal(
				"journal",
				JSON.stringify({ ...this.#journal, access: this.#access }),
			),
			rows: answer ? jsonOf(answer) : null,
		};
		this.#isWritten = true;
		const other = db.select({ id: idempotencyKeys.id }).from(idempotencyKeys).where(this.#its);
		return {
			first: assertThat(db, sql`not exists ${other}`, "is_unused"),
			last: insertWhere(db, idempotencyKeys, row, changed).onConflictDoUpdate({
				target: [idempotencyKeys.user_id, idempotencyKeys.key],
				set: replaced,
			}),
		};
	}

	/** Stores the response. If it is a 5xx, lets the next request take over immediately. */
	async store(response: Response) {
		const db = drizzle(this.#c.env.DB);
		const { id, answer: stored, created_at, user_id, key } = idempotencyKeys;
		const { status } = response;
		if (status >= 400 && !this.#isWritten) return;
		if (status >= 500) {
			await db.update(idempotencyKeys).set({ under_way_until: now() }).where(this.#own);
			return;
		}
		const headers = [...response.headers].filter(([name]) => !NOT_STORED.test(name));
		const body = this.#c.get("compact")?.text ?? null;
		const parts = { status, headers, body, access: this.#access };
		const answer = await this.#cipher.seal("answer", JSON.stringify(parts));
		if (status >= 400) {
			// If there is no row, nothing was written, and the key can be used again.
			await db.update(idempotencyKeys).set({ answer, journal: null }).where(this.#own);
			return;
		}
		await db
			.insert(idempotencyKeys)
			.values({
				id: this.#id,
				user_id: this.#c.var.key.user_id,
				key: this.#key,
				fingerprint: this.#fingerprint,
				under_way_until: now(),
				answer,
			})
			.onConflictDoUpdate({
				target: [user_id, key],
				set: replaced,
				setWhere: sql`${id} = excluded.id and ${stored} is null or ${lt(created_at, iso(Date.now() - DAY_MS))}`,
			});
	}
}

/** Replaces an older row of the key, which may have expired. */
const replaced = Object.fromEntries(
	["id", "fingerprint", "created_at", "under_way_until", "journal", "rows", "answer"].map(
		(name) => [name, sql.raw(`excluded.${name}`)],
	),
);

/** Executes a POST with an API key and an `Idempotency-Key` once (docs/api.md#safe-retries). */
export const safeRetries = createMiddleware<App>(async (c, next) => {
	const isPost = c.req.method === "POST" && c.get("key") !== undefined;
	const key = isPost ? c.req.header("idempotency-key") : undefined;
	// A family with a wildcard has this middleware on both matching paths.
	if (key === undefined || c.get("idempotency")) return next();
	const idempotency = new Idempotency(c, key);
	c.set("idempotency", idempotency);
	await next();
	if (c.error instanceof Replay) return;
	const lost = (error: unknown) => logWarning("The response to a POST was not stored", error);
	c.executionCtx.waitUntil(idempotency.store(c.res).catch(lost));
});

/** Deletes idempotency keys older than a day, at most 100,000. It reads the whole table, so it runs once an hour. */
export const deleteExpiredKeys = async ({ DB }: Env) => {
	const before = iso(Date.now() - DAY_MS);
	const old = sql`select user_id, key from ${idempotencyKeys} where ${lt(idempotencyKeys.created_at, before)} limit 100000`;
	await drizzle(DB).delete(idempotencyKeys).where(sql`(user_id, key) in (${old})`);
};
