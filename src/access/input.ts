import type { Context } from "hono";
import { routePath } from "hono/route";
import type * as z from "zod";
import type { App } from "../env.ts";
import type { BodyOptions } from "../http/body.ts";
import { orNotFound } from "../http/errors.ts";
import * as valid from "../http/valid.ts";
import type { Tenant } from "./tenant.ts";

/** Finds the object in the path, if there is one. `id` is the path's last parameter. */
type Find = (tenant: Tenant, id: string, c: Context<App>) => Promise<unknown>;

/** Throws the errors that come before those of the body and query: no access, no such object. */
const authorize = (find?: Find) => async (c: Context<App>) => {
	const [, name = ""] = /^.*:(\w+)/.exec(routePath(c)) ?? [];
	const id = c.req.param(name) ?? "";
	if (find) orNotFound(await find(c.var.tenant, id, c));
	else await c.var.tenant.read();
};

/**
 * Validates the body of a request for a tenant; the handler reads it with `c.req.valid("json")`.
 * @param find finds the object in the path; if there is none, the 404 comes before an error in the
 * body
 */
export const body = <S extends z.ZodType>(shape: S, find?: Find, options?: BodyOptions) =>
	valid.body(shape, authorize(find), options);

/** Validates the query of a request for a tenant, for `c.req.valid("query")`. */
export const query = <S extends z.ZodObject>(shape: S, find?: Find) =>
	valid.query(shape, authorize(find));
