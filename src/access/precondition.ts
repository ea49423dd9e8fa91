import { type SQL, sql } from "drizzle-orm";
import type { Context, Handler, MiddlewareHandler } from "hono";
import type { RouterRoute } from "hono/types";
import { mergePath } from "hono/utils/url";
import { assertThat, type Database, type Statement } from "../db/client.ts";
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
 * Checks `If-Match` and `If-None-Match` of changes (docs/api.md#caching-and-conditional-requests).
 * An object's ETag is the digest of the response to its GET. So the handler of that GET runs until
 * it reads. Its queries are sent with the first read of the change, and it continues with their
 * results. The batch of the change asserts that the queries still return the same rows.
 */

/** The ETags of `If-Match` and `If-None-Match`; undefined without the header. */
type Tags = { match: string[] | undefined; noneMatch: string[] | undefined };

/** The GET route of the object that a request changes. */
type ObjectRoute = { path: string; handler: Handler };

export class Precondition {
	readonly #c: Context<App>;
	readonly #tags: Tags;
	readonly #object: ObjectRoute | undefined;
	readonly #queries = Promise.withResolvers<Statement[]>();
	readonly #results = Promise.withResolvers<unknown[]>();
	/** Whether the GET's handler runs and hasn't read yet. */
	#isStarting = false;
	/** Whether the GET's handler has returned a response. */
	#isFound: Promise<boolean> | undefined;
	/** The rows of the GET's queries as JSON: SQL for them, and what they were. */
	#rows: { sql: SQL; before: string } | undefined;

	constructor(c: Context<App>, tags: Tags, object: ObjectRoute | undefined) {
		this.#c = c;
		this.#tags = tags;
		this.#object = object;
	}

	/** Whether any object that exists fulfils the condition. */
	get #isExistence() {
		const { match, noneMatch } = this.#tags;
		return noneMatch === undefined && match?.includes("*") === true;
	}

	/**
	 * Starts the GET's handler.
	 * @returns what to send with the first read: the GET's queries, and a select of their rows as
	 * JSON
	 */
	async start(db: Database) {
		if (!this.#object || this.#isExistence) return {};
		this.#isStarting = true;
		this.#isFound = this.#respond(this.#object);
		const queries = await Promise.race([this.#queries.promise, this.#isFound.then(() => [])]);
		this.#isStarting = false;
		const rows = sql`json_array(${sql.join(queries.map(jsonOf), sql`, `)})`;
		this.#rows = { sql: rows, before: "" };
		return {
			ofObject: queries,
			rows: db.select({ json: sql<string>`${rows}`.as("json") }).from(sql`(select 1)`),
		};
	}

	async #respond({ handler }: ObjectRoute) {
		const response = Promise.resolve(handler(this.#c, async () => {}));
		return response.then(
			(value) => value instanceof Response,
			(error: unknown) => {
				if (error instanceof ApiError) return false;
				throw error;
			},
		);
	}

	/** Returns the results for the read of the GET's handler; undefined for a read of the change. */
	join(queries: Statement[]) {
		if (!this.#isStarting) return undefined;
		this.#isStarting = false;
		this.#queries.resolve(queries);
		return this.#results.promise;
	}

	/**
	 * Continues the GET's handler with its results. If the object doesn't exist, the change returns
	 * the error.
	 * @throws 412 if the condition is false
	 */
	async check({
		ofObject = [],
		rows = [],
	}: {
		ofObject?: unknown[] | undefined;
		rows?: { json: string }[] | undefined;
	}) {
		if (this.#isExistence) return;
		if (!this.#object) return this.#compare();
		if (this.#rows) this.#rows.before = rows[0]?.json ?? "";
		this.#results.resolve(ofObject);
		const isFound = await this.#isFound;
		const body = this.#c.get("compact")?.text ?? "";
		// This isn't the response to the current request.
		this.#c.set("compact", undefined);
		if (!isFound) return;
		const { path } = this.#object;
		this.#compare(await tagOf(represent(body, `GET ${path}`, this.#c.var.version)));
	}

	/** @throws 412 if the condition is false; an object without a GET has no ETag */
	#compare(tag?: string) {
		const { match, noneMatch } = this.#tags;
		const isIn = (tags: string[]) => tags.some((known) => known === "*" || known === tag);
		if (match && !isIn(match)) throw preconditionFailed();
		if (noneMatch && isIn(noneMatch))
			throw preconditionFailed("The ETag of the object is in If-None-Match.");
	}

	/**
	 * Returns the statements that make the batch of a change fail if the object has changed since
	 * `check`.
	 */
	assertions(db: Database): Statement[] {
		if (!this.#rows) return [];
		const { sql: rows, before } = this.#rows;
		return [assertThat(db, sql`${rows} = ${before}`, "is_unchanged")];
	}
}

const isParameter = (segment: string | undefined) => segment?.startsWith(":") === true;

/**
 * Returns the path of the object that a route changes: the route's path or, for an action, the path
 * without its last segment. Settings, which have no id, are changed by a PATCH. Undefined if the
 * route doesn't change a single object.
 */
export function objectPath(path: string, isPatch: boolean) {
	if (path === "/") return isPatch ? path : undefined;
	const segments = path.split("/");
	const last = segments.pop();
	if (isParameter(last)) return path;
	return isParameter(segments.at(-1)) ? segments.join("/") : undefined;
}

const tagsOf = (c: Context, name: string) => {
	const header = c.req.header(name);
	return header === undefined ? undefined : tagsIn(header);
};

/**
 * Compares `If-Match` and `If-None-Match` with the ETag of the object that the routes of a family
 * at `at` change. An object without a GET has no ETag, so only `*` matches it.
 */
export function conditional(mount: string, routes: RouterRoute[], at: string) {
	const routeOf = (method: string, path: string | undefined) =>
		routes.findLast((route) => route.method === method && route.path === path);
	// Some parts have a separate GET: `…/update_source` changes the part at `…/source`.
	const part = at.replace(/\/update_(\w+)$/, "/$1");
	const path =
		routeOf("GET", part) && part !== at ? part : objectPath(at, routeOf("PATCH", at) !== undefined);
	const get = routeOf("GET", path);
	const object = get && { path: mergePath(mount, get.path), handler: get.handler };
	const middleware: MiddlewareHandler<App> = async (c, next) => {
		const tags = { match: tagsOf(c, "if-match"), noneMatch: tagsOf(c, "if-none-match") };
		const isConditional = tags.match !== undefined || tags.noneMatch !== undefined;
		if (isConditional && path !== undefined && !isRead(c.req.method))
			c.set("precondition", new Precondition(c, tags, object));
		await next();
	};
	return Object.assign(middleware, { conditionOf: object?.path ?? path });
}
