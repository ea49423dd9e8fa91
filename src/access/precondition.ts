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
import { isRead } from "../http/methods.ts";
import { represent } from "../http/versions.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** Undefined without `If-Match`. */
		precondition: Precondition | undefined;
	}
}

/*
 * Checks `If-Match` and `If-None-Match` of changes (docs/api.md#caching-and-conditional-requests). An object's ETag is the digest
 * of the response to its GET. So the handler of that GET runs twice: first to learn its queries, which then run in the batch of
 * this request's first read, and again with their results, to create its response. The batch of the change asserts that the
 * queries still return the same rows.
 */

type Statement = BatchItem<"sqlite">;

/**
 * Thrown by `Tenant.read` to end the first run of the GET's handler. (Created only when thrown: an Error that is created while an
 * isolate starts makes V8 read the whole script again, for the stack.)
 */
class NotYet extends Error {}

/** The ETags of `If-Match` and `If-None-Match`; undefined without the header. */
type Tags = { match: string[] | undefined; noneMatch: string[] | undefined };

/** The GET route of the object that a request changes. */
type ObjectRoute = { path: string; handler: Handler };

export class Precondition {
	readonly #c: Context<App>;
	readonly #tags: Tags;
	readonly #object: ObjectRoute | undefined;
	/** The GET's queries, after its first run, and their rows as JSON. */
	#queries: Statement[] = [];
	#rows: string[] = [];
	/** Set while the GET's handler runs. `results` is undefined in its first run. */
	#run: { results: unknown[] | undefined } | undefined;

	constructor(c: Context<App>, tags: Tags, object: ObjectRoute | undefined) {
		this.#c = c;
		this.#tags = tags;
		this.#object = object;
	}

	/** Runs the GET's handler with `results`. Returns whether it returned a response. */
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

	/** Returns the results for a read of the GET's handler; undefined for a read of another handler. */
	intercept(queries: Statement[]) {
		if (!this.#run) return undefined;
		const { results } = this.#run;
		if (results) return results;
		this.#queries = queries;
		throw new NotYet("The queries have not been sent yet.");
	}

	/** Whether any object that exists fulfils the condition. */
	get #isExistence() {
		const { match, noneMatch } = this.#tags;
		return noneMatch === undefined && match?.includes("*") === true;
	}

	/** @throws 412 if the condition is false for an object with the ETag, which an object without a GET doesn't have */
	#compare(tag?: string) {
		const { match, noneMatch } = this.#tags;
		const isIn = (tags: string[]) => tags.some((known) => known === "*" || known === tag);
		if (match && !isIn(match)) throw preconditionFailed();
		if (noneMatch && isIn(noneMatch))
			throw preconditionFailed("The ETag of the object is in If-None-Match.");
	}

	/** Returns the statements that run with the request's first read: each of the GET's queries, and its rows as JSON. */
	async statements(db: Database): Promise<Statement[]> {
		if (!this.#object || this.#isExistence) return [];
		await this.#respond(this.#object);
		return this.#queries.flatMap((query) => [
			query,
			db.select({ rows: jsonOf(query).as("rows") }).from(sql`(select 1)`),
		]);
	}

	/**
	 * Checks the results of `statements`. If the object doesn't exist, the handler returns the error.
	 * @throws 412 if the condition is false
	 */
	async check(results: { rows?: string }[][]) {
		if (this.#isExistence) return;
		if (!this.#object) return this.#compare();
		this.#rows = results.flatMap(([row], i) => (i % 2 === 1 ? (row?.rows ?? "") : []));
		const hasAnswered = await this.#respond(
			this.#object,
			results.filter((_, i) => i % 2 === 0),
		);
		const body = this.#c.get("compact")?.text ?? "";
		// This isn't the response to the current request.
		this.#c.set("compact", undefined);
		if (!hasAnswered) return;
		const { path } = this.#object;
		const tag = await tagOf(represent(body, `GET ${path}`, this.#c.var.version));
		this.#compare(tag);
	}

	/** Returns statements that make the batch of a change fail if the object has changed since `check`. */
	assertions(db: Database): Statement[] {
		return this.#rows.map((rows, i) => {
			const [query] = this.#queries.slice(i, i + 1);
			if (!query) throw new Error("There are more results than queries.");
			return assertThat(db, sql`${jsonOf(query)} = ${rows}`, "is_unchanged");
		});
	}
}

const isParameter = (segment: string | undefined) => segment?.startsWith(":") === true;

/** Returns the path of a part that has a separate GET: `…/update_source` changes the part at `…/source`. */
const partPath = (path: string) => path.replace(/\/update_(\w+)$/, "/$1");

/**
 * Returns the path of the object that a route changes: the route's path or, for an action, the path without its last segment.
 * Undefined if that isn't a single object.
 */
export function objectPath(path: string) {
	const segments = path.split("/");
	const last = segments.pop();
	if (isParameter(last)) return path;
	return isParameter(segments.at(-1)) ? segments.join("/") : undefined;
}

/** Whether the path is for settings: an object without an id. */
export const isSettings = (path: string) => path === "/";

/**
 * Compares `If-Match` and `If-None-Match` with the ETag of the object that the routes of a family at `at` change. An object
 * without a GET has no ETag, so only `*` matches it.
 */
export function conditional(
	mount: string,
	routes: RouterRoute[],
	at: string,
): MiddlewareHandler<App> {
	const isPatched = routes.some((route) => route.method === "PATCH" && route.path === at);
	const getOf = (path: string | undefined) =>
		routes.findLast((route) => route.method === "GET" && route.path === path);
	const own = isPatched && isSettings(at) ? at : objectPath(at);
	const part = partPath(at);
	const path = part !== at && getOf(part) ? part : own;
	const get = getOf(path);
	const object = get && { path: `${mount}${path}`, handler: get.handler };
	return async (c, next) => {
		const [match, noneMatch] = ["if-match", "if-none-match"].map((name) => c.req.header(name));
		// A path such as `/bulk` also matches `/:id`.
		const isOwn = routePath(c, -1) === (isSettings(at) ? mount : `${mount}${at}`);
		const isConditional = match !== undefined || noneMatch !== undefined;
		if (isConditional && path !== undefined && !isRead(c.req.method) && isOwn) {
			const tags = {
				match: match === undefined ? undefined : tagsIn(match),
				noneMatch: noneMatch === undefined ? undefined : tagsIn(noneMatch),
			};
			c.set("precondition", new Precondition(c, tags, object));
		}
		await next();
	};
}
