import { and, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { v7 } from "uuid";
import { digest } from "../auth/keys.ts";
import { cipherOf } from "../auth/secrets.ts";
import { assertThat } from "../db/assertion.ts";
import { type Database, deleteOlderThan, insertWhere } from "../db/client.ts";
import { now } from "../db/now.ts";
import { idempotencyKeys } from "../db/schema/idempotency_keys.ts";
import { jsonOf } from "../db/snapshot.ts";
import type { App } from "../env.ts";
import { idempotencyKeyInUse, idempotencyKeyReused, invalid, Replay } from "../http/errors.ts";
import { bytesOf } from "../http/valid.ts";
import { type Access, accessOf, type Holder, hasAccess } from "./access.ts";

/*
 * How a POST with an Idempotency-Key is carried out once (docs/api.md#safe-retries).
 *
 * The batch of the change also inserts a row for the key, so either both exist or neither does. A
 * second request whose batch comes later fails on an assertion. The response is known only after the
 * batch, so it is added to the row after it was sent. The row holds what is needed if the process is
 * killed before that: what the request had read, what it had made up (`once`), and the rows that its
 * change answered with. A retry then runs the handler on these instead of on the database, and so
 * arrives at the same response without a second change.
 */

type Statement = BatchItem<"sqlite">;
type Row = typeof idempotencyKeys.$inferSelect;

/** What a request has read and made up, in the order in which it asked. */
type Journal = { reads: unknown[][]; made: unknown[] };

const DAY_MS = 86_400_000;

/** A request without an answer counts as under way for this long. It is killed much earlier. */
const UNDER_WAY_MS = 60_000;

/** Headers of a response that are not its own, but those of the request that it is sent to. */
const NOT_KEPT = /^(x-request-id|vary|ratelimit-policy|access-control-.*)$/;

const KEY = /^[\x20-\x7e]{1,255}$/;

const from = (at: number) => new Date(at).toISOString();

/** The access of the first request, where an older version of this code stored none. */
const UNLIMITED: Access = {
	scopes: ["*"],
	organizations: [],
	projects: [],
	allowed_ips: [],
	expires_at: null,
};

/** The `Idempotency-Key` of a request. */
export class Idempotency {
	readonly #c: Context<App>;
	readonly #key: string;
	readonly #journal: Journal = { reads: [], made: [] };
	/** What the killed request had, if this one takes over. */
	#kept: { journal: Journal; rows: string } | undefined;
	/** The digest of method, path and body. */
	#fingerprint = "";
	/** The access of the API key that the request has. */
	#access = UNLIMITED;
	#bodyError: unknown;
	/** The id of the row that this request writes. */
	#id = v7();
	/** A batch with the key's row has been sent. */
	#isWritten = false;

	constructor(c: Context<App>, key: string) {
		this.#c = c;
		this.#key = key;
	}

	get #cipher() {
		const { user_id } = this.#c.var.key;
		return cipherOf(this.#c.env, "idempotency_keys", JSON.stringify([user_id, this.#key]));
	}

	/** WHERE clause: the caller's row for this key. Rows older than a day wait for their deletion. */
	get #its() {
		const { user_id, key, created_at } = idempotencyKeys;
		return and(
			eq(user_id, this.#c.var.key.user_id),
			eq(key, this.#key),
			gt(created_at, from(Date.now() - DAY_MS)),
		);
	}

	/** Reads the body, so that `check` can compare the request with the one that used the key. */
	async readRequest() {
		const { method, url } = this.#c.req;
		const { pathname, search } = new URL(url);
		const body = await bytesOf(this.#c).catch((error: unknown) => {
			this.#bodyError = error;
			return new Uint8Array();
		});
		const path = pathname.replace(/\/+$/, "") + search;
		const bytes = Buffer.from(body).toString("base64");
		this.#fingerprint = await digest(JSON.stringify([method, path, bytes]));
	}

	/** The statement that looks the key up, in the batch of the guard. */
	lookUp(db: Database) {
		return db.select().from(idempotencyKeys).where(this.#its);
	}

	/**
	 * Ends the request if the `Idempotency-Key` was used before. A kept answer may hold a secret, such as the value of a new
	 * API key, so an API key gets it only if it has all the access of the first one.
	 * @throws the kept answer, 400 for an invalid key or one of another request, 409 if the first
	 * request is under way
	 */
	async check(db: Database, holder: Holder, row: Row | undefined) {
		if (this.#bodyError) throw this.#bodyError;
		this.#access = accessOf(holder);
		if (!KEY.test(this.#key))
			throw invalid(null, "Idempotency-Key must have 1 to 255 printable characters of ASCII.");
		if (!row) return;
		if (row.fingerprint !== this.#fingerprint) throw idempotencyKeyReused();
		const { access = UNLIMITED, ...kept } = JSON.parse(
			row.answer
				? await this.#cipher.unseal("answer", row.answer)
				: await this.#cipher.unseal("journal", row.journal ?? ""),
		);
		if (!(await hasAccess(holder, access))) throw idempotencyKeyReused();
		if (row.answer) throw new Replay(kept);
		await this.#takeOver(db, row, kept);
	}

	/** Goes on where the request that wrote the row was killed; 409 if it may still be alive. */
	async #takeOver(db: Database, { id, under_way_until, rows }: Row, journal: Journal) {
		const wait = Date.parse(under_way_until) - Date.now();
		// A second is enough for a request that has written already.
		if (wait > 0) throw idempotencyKeyInUse(1);
		const [claimed] = await db.batch([
			db
				.update(idempotencyKeys)
				.set({ under_way_until: from(Date.now() + UNDER_WAY_MS) })
				.where(
					and(eq(idempotencyKeys.id, id), eq(idempotencyKeys.under_way_until, under_way_until)),
				)
				.returning({ id: idempotencyKeys.id }),
		]);
		if (claimed.length === 0) throw idempotencyKeyInUse(1);
		this.#kept = { journal, rows: rows ?? "[]" };
		this.#id = id;
		this.#isWritten = true;
	}

	/** What a read returned: to the killed request, if this one takes over. */
	read<T>(answers: T[]): T[] {
		const i = this.#journal.reads.push(answers) - 1;
		const kept: T[] | undefined =
			this.#kept && JSON.parse(JSON.stringify(this.#kept.journal.reads))[i];
		return kept ?? answers;
	}

	/** A value that is made up once, and is the same for a request that takes over. */
	async once<T>(make: () => T | Promise<T>): Promise<T> {
		const { made } = this.#journal;
		const i = made.push(null) - 1;
		const kept = this.#kept?.journal.made;
		if (kept && i < kept.length) return JSON.parse(JSON.stringify(kept[i]));
		const value = await make();
		made[i] = value;
		return value;
	}

	/** Whether the change was made by the killed request. */
	get isDone() {
		return this.#kept !== undefined;
	}

	/** JSON of the rows that the change answered with. */
	get rows() {
		return this.#kept?.rows ?? "[]";
	}

	/**
	 * Statements for the batch of a change: the first makes it fail if another request was faster, the
	 * last inserts the key's row.
	 * @param changed SQL condition: the change changed a row. If not, the key stays free.
	 */
	async statements(db: Database, answer: Statement | undefined, changed: SQL) {
		const { user_id } = this.#c.var.key;
		const row = {
			id: this.#id,
			user_id,
			key: this.#key,
			fingerprint: this.#fingerprint,
			under_way_until: from(Date.now() + UNDER_WAY_MS),
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

	/** Keeps the response, or, if it is a 5xx, lets the next request take over at once. */
	async keep(response: Response) {
		const db = drizzle(this.#c.env.DB);
		const { id, answer: kept, created_at, user_id, key } = idempotencyKeys;
		const { status } = response;
		if (status >= 400 && !this.#isWritten) return;
		if (status >= 500) {
			await db.update(idempotencyKeys).set({ under_way_until: now() }).where(eq(id, this.#id));
			return;
		}
		const headers = [...response.headers].filter(([name]) => !NOT_KEPT.test(name));
		const body = this.#c.get("compact")?.text ?? null;
		const parts = { status, headers, body, access: this.#access };
		const answer = await this.#cipher.seal("answer", JSON.stringify(parts));
		if (status >= 400) {
			// Without a row, nothing was written, and the key stays free.
			await db.update(idempotencyKeys).set({ answer, journal: null }).where(eq(id, this.#id));
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
				setWhere: sql`${id} = excluded.id and ${kept} is null or ${lt(created_at, from(Date.now() - DAY_MS))}`,
			});
	}
}

/** Replaces an older row, which may be one that has expired. */
const replaced = Object.fromEntries(
	["id", "fingerprint", "created_at", "under_way_until", "journal", "rows", "answer"].map(
		(name) => [name, sql.raw(`excluded.${name}`)],
	),
);

/**
 * The routes after it carry out a POST with an `Idempotency-Key` once, if it also has an API key
 * (docs/api.md#safe-retries).
 */
export const safeRetries = createMiddleware<App>(async (c, next) => {
	const isPost = c.req.method === "POST" && c.get("key") !== undefined;
	const key = isPost ? c.req.header("idempotency-key") : undefined;
	// A family with a wildcard has this middleware on both paths that match.
	if (key === undefined || c.get("idempotency")) return next();
	const idempotency = new Idempotency(c, key);
	c.set("idempotency", idempotency);
	await next();
	if (c.error instanceof Replay) return;
	const lost = (error: unknown) =>
		console.error(
			JSON.stringify({ warning: "The response to a POST was not kept", error: String(error) }),
		);
	c.executionCtx.waitUntil(idempotency.keep(c.res).catch(lost));
});

/** Deletes the keys that are older than a day, ten thousand at most. */
export const deleteExpiredKeys = async ({ DB }: Env) =>
	deleteOlderThan(
		drizzle(DB),
		idempotencyKeys,
		idempotencyKeys.id,
		idempotencyKeys.created_at,
		from(Date.now() - DAY_MS),
	);
