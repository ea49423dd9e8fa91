import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { App } from "../env.ts";
import { unknownVersion } from "./errors.ts";
import { formatted } from "./json.ts";

declare module "hono" {
	interface ContextVariableMap {
		/** The API version of the request; undefined if neither the request nor a key defines it. */
		version: string | undefined;
	}
}

/** A version of the API, named by its date (docs/api.md#versions). */
export type Version = {
	/** `YYYY-MM-DD` */
	date: string;
	/**
	 * Converts the body of a response of this version to the previous version, by operation (`GET
	 * /api/users/:uuid`). Operations that haven't changed are omitted.
	 */
	downgrade?: Record<string, (body: object) => object>;
};

export const FIRST_VERSION = "2026-11-21";
export const CURRENT_VERSION = "2026-11-21";

/** All supported versions, newest first. */
export const VERSIONS: readonly Version[] = [{ date: CURRENT_VERSION }];

/**
 * Returns the body of a response in the version of its request.
 * @param body JSON in the newest version
 * @param operation the method and path of the route
 */
export function represent(
	body: string,
	operation: string,
	version = CURRENT_VERSION,
	versions = VERSIONS,
): string {
	const newer = versions.slice(
		0,
		versions.findIndex(({ date }) => date === version),
	);
	const steps = newer.flatMap(({ downgrade }) => downgrade?.[operation] ?? []);
	if (steps.length === 0) return body;
	return JSON.stringify(steps.reduce((value, step) => step(value), JSON.parse(body)));
}

/** How many months a version is supported after the next one is released. */
const SUPPORT_MONTHS = 12;

/** Returns the headers of versions that aren't the newest (RFC 9745, RFC 8594). */
function deprecation(version: string, versions: readonly Version[]): Record<string, string> {
	const next = versions[versions.findIndex(({ date }) => date === version) - 1];
	if (!next) return {};
	const since = new Date(next.date);
	const sunset = new Date(next.date);
	sunset.setUTCMonth(sunset.getUTCMonth() + SUPPORT_MONTHS);
	return { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString() };
}

/** Converts responses to the version of the request, with its header (docs/api.md#versions). */
export const respondInVersion = (versions: readonly Version[] = VERSIONS) =>
	createMiddleware<App>(async (c, next) => {
		await next();
		const version = c.get("version") ?? CURRENT_VERSION;
		c.res.headers.set("Tenantry-Version", version);
		for (const [name, value] of Object.entries(deprecation(version, versions)))
			c.res.headers.set(name, value);
		const compact = c.get("compact");
		if (version === versions[0]?.date || compact === undefined || !c.res.ok) return;
		const method = c.req.method === "HEAD" ? "GET" : c.req.method;
		const older = represent(compact.text, `${method} ${routePath(c)}`, version, versions);
		c.res = new Response(formatted(c, older), c.res);
	});

/** Sets the version: `Tenantry-Version`'s, else the key's, else the newest. */
export const chooseVersion = (versions: readonly Version[] = VERSIONS) =>
	Object.assign(
		createMiddleware<App>(async (c, next) => {
			const asked = c.req.header("tenantry-version")?.trim();
			if (asked !== undefined && !versions.some(({ date }) => date === asked))
				throw unknownVersion(versions.map(({ date }) => date));
			c.set("version", asked ?? versionOf(c.get("key"), versions));
			await next();
		}),
		{ versions },
	);

/** Returns the version of a key, or the oldest supported one. */
function versionOf(
	key: { version?: string | undefined } | undefined,
	versions: readonly Version[],
) {
	if (!key) return versions[0]?.date;
	const made = key.version ?? FIRST_VERSION;
	return versions.find(({ date }) => date === made)?.date ?? versions.at(-1)?.date;
}
