import { is, type SQL, sql } from "drizzle-orm";
import { SQLiteSelectBase } from "drizzle-orm/sqlite-core";
import type { Context, Handler, MiddlewareHandler } from "hono";
import type { RouterRoute } from "hono/types";
import { mergePath } from "hono/utils/url";
import { assertThat, type Database, type Statement } from "../db/client.ts";
import { columnNames } from "../db/rows.ts";
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
 * An object's ETag is the digest of the response to its GET. So, after the first read of the
 * change, the handler of that GET runs, whose queries are sent in a round trip of their own. The
 * batch of the change asserts that these queries still return the same rows.
 */

/** The ETags of `If-Match` and `If-None-Match`; undefined without the header. */
type Tags = { match: string[] | undefined; noneMatch: string[] | undefined };

/** The GET route of the object that a request changes. */
type ObjectRoute = { path: string; handler: Handler };

export class Precondition {
	readonly #c: Context<App>;
	readonly #tags: Tags;
	readonly #object: ObjectRoute | undefined;
	/** Whether the GET's handler is running. */
	#isReading = false;
	/** The rows of each read of the GET as JSON: SQL for them, and what they were. */
	readonly #rows: { sql: SQL; before: string }[] = [];

	constructor(c: Context<App>, tags: Tags, object: ObjectRoute | undefined) {
		this.#c = c;
		this.#tags = tags;
		this.#object = object;
	}

	/**
	 * Runs the GET's handler, and compares its ETag. If the object doesn't exist, the change returns
	 * the error.
	 * @throws 412 if the condition is false
	 */
	async check() {
		const { match, noneMatch } = this.#tags;
		// Any object that exists fulfils this.
		if (noneMatch === undefined && match?.includes("*")) return;
		if (!this.#object) return this.#compare();
		const { path, handler } = this.#object;
		this.#isReading = true;
		const isFound = await Promise.resolve(handler(this.#c, async () => {})).then(
			(value) => value instanceof Response,
			(error: unknown) => {
				if (error instanceof ApiError && error.status === 404) return false;
				throw error;
			},
		);
		this.#isReading = false;
		const body = this.#c.get("compact")?.text ?? "";
		// This isn't the response to the current request.
		this.#c.set("compact", undefined);
		if (isFound) this.#compare(await tagOf(represent(body, `GET ${path}`, this.#c.var.version)));
	}

	/** Selects the rows of the GET's queries as JSON, and remembers them; undefined for other reads. */
	selectRows(db: Database, queries: Statement[]) {
		if (!this.#isReading) return undefined;
		const rows = sql<string>`json_array(${sql.join(queries.map(jsonOf), sql`, `)})`;
		return db
			.select({
				json: rows
					.mapWith((before: string) => {
						this.#rows.push({ sql: rows, before });
						return before;
					})
					.as("json"),
			})
			.from(sql`(select 1)`);
	}

	/** @throws 412 if the condition is false; an object without a GET has no ETag */
	#compare(tag?: string) {
		const { match, noneMatch } = this.#tags;
		const isIn = (tags: string[]) => tags.some((known) => known === "*" || known === tag);
		if (match && !isIn(match)) throw preconditionFailed();
		if (noneMatch && isIn(noneMatch))
			throw preconditionFailed("The ETag of the object is in If-None-Match.");
	}

	/** Returns the statements that make the batch of a change fail if the rows have changed. */
	assertions(db: Database): Statement[] {
		return this.#rows.map(({ sql: rows, before }) =>
			assertThat(db, sql`${rows} = ${before}`, "is_unchanged"),
		);
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

/** The maximum number of columns in a `json_array`: D1 limits arguments. */
const MAX_ARGUMENTS = 32;

/**
 * SQL for the rows of a select as JSON: a list of rows, each a list of lists of values.
 * @throws if the statement isn't a select
 */
export function jsonOf(statement: Statement): SQL<string> {
	if (!is(statement, SQLiteSelectBase)) throw new Error("Only the rows of a select have JSON.");
	const names = columnNames(statement._.selectedFields).map((_, i) => sql.raw(`c${i}`));
	const listed = (terms: SQL[]) => sql.join(terms, sql`, `);
	const lists = Array.from({ length: Math.ceil(names.length / MAX_ARGUMENTS) }, (_, i) => {
		const part = names.slice(i * MAX_ARGUMENTS, (i + 1) * MAX_ARGUMENTS);
		return sql`json_array(${listed(part)})`;
	});
	return sql`(with selected (${listed(names)}) as (${statement.getSQL()})
		select json_group_array(json_array(${listed(lists)})) from selected)`;
}
