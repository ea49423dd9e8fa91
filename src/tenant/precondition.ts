import { sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { Context, Handler, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { RouterRoute } from "hono/types";
import { assertThat } from "../db/assertion.ts";
import type { Database } from "../db/client.ts";
import { jsonOf } from "../db/snapshot.ts";
import type { App } from "../env.ts";
import { ApiError, preconditionFailed } from "../http/errors.ts";
import { tagOf, tagsIn } from "../http/etag.ts";
import { represent } from "../http/versions.ts";

/*
 * How `If-Match` is checked (docs/api.md#caching-and-conditional-requests). An object's ETag is the
 * digest of the response to its GET. So the handler of that GET runs twice: first to learn which
 * queries it sends, which then run in the batch of this request's own first read, and again on their
 * results, for its response. The batch of the change asserts that the queries still return the same
 * rows.
 */

type Statement = BatchItem<"sqlite">;

/**
 * Thrown by `Tenant.read` to end the first run of the GET's handler. (Made when it is thrown: an error that is made while
 * an isolate starts has V8 read the whole script again, for the stack.)
 */
class NotYet extends Error {}

/** The GET of the object that a request changes. */
export type ObjectRoute = { path: string; handler: Handler };

export class Precondition {
	readonly #c: Context<App>;
	readonly #tags: string[];
	readonly #object: ObjectRoute | undefined;
	/** The GET's queries, once it has asked for them, and the JSON of their rows. */
	#queries: Statement[] = [];
	#rows: string[] = [];
	/** What `Tenant.read` returns to the GET's handler; undefined unless that is running. */
	#run: { results: unknown[] | undefined } | undefined;

	constructor(c: Context<App>, tags: string[], object: ObjectRoute | undefined) {
		this.#c = c;
		this.#tags = tags;
		this.#object = object;
	}

	/** Runs the GET's handler on `results`. Returns whether it has answered. */
	async #respond({ handler }: ObjectRoute, results?: unknown[]) {
		this.#run = { results };
		try {
			return (await handler(this.#c, async () => {})) instanceof Response;
		} catch (error) {
			if (error instanceof NotYet || error instanceof ApiError) return false;
			throw error;
		} finally {
			this.#run = undefined;
		}
	}

	/** What a read returns if the GET's handler asks; undefined if another one does. */
	intercept(queries: Statement[]) {
		if (!this.#run) return undefined;
		const { results } = this.#run;
		if (results) return results;
		this.#queries = queries;
		throw new NotYet("The queries have not been sent yet.");
	}

	/** The statements that run with the request's first read: each of the GET's queries, and its JSON. */
	async statements(db: Database): Promise<Statement[]> {
		if (!this.#object || this.#tags.includes("*")) return [];
		await this.#respond(this.#object);
		return this.#queries.flatMap((query) => [
			query,
			db.select({ rows: jsonOf(query).as("rows") }).from(sql`(select 1)`),
		]);
	}

	/**
	 * Checks the results of `statements`. An object that doesn't exist is left to the handler.
	 * @throws 412 if the object has another ETag
	 */
	async check(results: { rows?: string }[][]) {
		if (this.#tags.includes("*")) return;
		if (!this.#object) throw preconditionFailed();
		this.#rows = results.flatMap(([row], i) => (i % 2 === 1 ? (row?.rows ?? "") : []));
		const hasAnswered = await this.#respond(
			this.#object,
			results.filter((_, i) => i % 2 === 0),
		);
		const body = this.#c.get("compact")?.text ?? "";
		// It isn't the response to this request.
		this.#c.set("compact", undefined);
		if (!hasAnswered) return;
		const { path } = this.#object;
		const tag = await tagOf(represent(body, `GET ${path}`, this.#c.var.version));
		if (!this.#tags.includes(tag)) throw preconditionFailed();
	}

	/** Statements that make the batch of a change fail if the object has changed since `check`. */
	assertions(db: Database): Statement[] {
		return this.#rows.map((rows, i) => {
			const [query] = this.#queries.slice(i, i + 1);
			if (!query) throw new Error("There are more results than queries.");
			return assertThat(db, sql`${jsonOf(query)} = ${rows}`, "is_unchanged");
		});
	}
}

const isParameter = (segment: string | undefined) => segment?.startsWith(":") === true;

/** A part of an object that has a GET of its own: `…/update_source` changes what `…/source` reads. */
const partPath = (path: string) => path.replace(/\/update_(\w+)$/, "/$1");

/**
 * The object that a route changes: its own path, or, for an action, the path without its last
 * segment. Undefined if that isn't one object.
 */
export function objectPath(path: string) {
	const segments = path.split("/");
	const last = segments.pop();
	if (isParameter(last)) return path;
	return isParameter(segments.at(-1)) ? segments.join("/") : undefined;
}

/** Whether a PATCH of the path changes settings: an object without an id. */
export const isSettings = (path: string) => path === "/";

/**
 * The routes of a family at `at` compare `If-Match` with the ETag of the object that they change. An
 * object without a GET has no ETag, so only `*` matches it.
 */
export function ifMatch(mount: string, routes: RouterRoute[], at: string): MiddlewareHandler<App> {
	const isPatched = routes.some((route) => route.method === "PATCH" && route.path === at);
	const getOf = (path: string | undefined) =>
		routes.findLast((route) => route.method === "GET" && route.path === path);
	const own = isPatched && isSettings(at) ? at : objectPath(at);
	const part = partPath(at);
	const path = part !== at && getOf(part) ? part : own;
	const get = getOf(path);
	const object = get && { path: `${mount}${path}`, handler: get.handler };
	return async (c, next) => {
		const header = c.req.header("if-match");
		const isRead = ["GET", "HEAD"].includes(c.req.method);
		// A path such as `/bulk` also matches `/:id`.
		const isOwn = routePath(c, -1) === (isSettings(at) ? mount : `${mount}${at}`);
		if (header !== undefined && path !== undefined && !isRead && isOwn)
			c.set("precondition", new Precondition(c, tagsIn(header), object));
		await next();
	};
}
