import type { Context } from "hono";
import { routePath } from "hono/route";
import type * as z from "zod";
import type { App } from "../env.ts";
import { found } from "../http/errors.ts";
import * as valid from "../http/valid.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Loads the object in the path; undefined or null if it doesn't exist. `id` is the last parameter
 * of the path.
 */
type Load = (tenant: Tenant, id: string, c: Context<App>) => Promise<unknown>;

/**
 * Throws the errors that take precedence over those of the body and query: no access, no such
 * object.
 */
const authorize = (load?: Load) => async (c: Context<App>) => {
	const [, name = ""] = /.*:(\w+)/.exec(routePath(c)) ?? [];
	const id = c.req.param(name) ?? "";
	if (load) found(await load(c.var.tenant, id, c));
	else await c.var.tenant.read();
};

/**
 * Validates the body of a tenant's request; the handler reads it with `c.req.valid("json")`.
 * @param load loads the object in the path; its 404 takes precedence over errors in the body
 */
export const body = <S extends z.ZodType>(shape: S, load?: Load, options?: valid.BodyOptions) =>
	valid.body(shape, authorize(load), options);

/** Validates the query of a tenant's request; the handler reads it with `c.req.valid("query")`. */
export const query = <S extends z.ZodObject>(shape: S, load?: Load) =>
	valid.query(shape, authorize(load));
