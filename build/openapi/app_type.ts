import type { Hono } from "hono";
import type { MergeSchemaPath, Schema } from "hono/types";
import type { families, publicRoutes } from "../../src/app.ts";
import type { App } from "../../src/env.ts";
import type { PublicRoutes } from "../../src/mount.ts";
import type { AsDocumented, AssertNone, Differences } from "./response_types.ts";

/** A row of these tables. */
export type Listed = (typeof families)[number] | (typeof publicRoutes)[number];

/** The routes that a row loads. */
export type RoutesOf<R extends PublicRoutes> =
	Awaited<ReturnType<R["load"]>> extends infer Loaded
		? Loaded extends { default: infer D }
			? D
			: Loaded
		: never;

/** Makes the compiler compare the responses of all routes with their documented schemas. */
export type WrongResponses = AssertNone<Differences<RoutesOf<Listed>>>;

/** The routes of one row, mounted at its path. */
type Mounted<R> = R extends PublicRoutes
	? RoutesOf<R> extends Hono<App, infer S, string>
		? AsDocumented<MergeSchemaPath<S, R["path"]>>
		: never
	: never;

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
	all: infer All,
) => void
	? All
	: never;

type Routed = Intersection<Mounted<Listed>>;

/** The type of the API, for `hc<AppType>(url)` (https://hono.dev/docs/guides/rpc). */
export type AppType = Hono<App, Routed extends Schema ? Routed : never, "/">;
