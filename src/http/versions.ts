import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { Key } from "../auth/keys.ts";
import type { App } from "../env.ts";
import { unknownVersion } from "./errors.ts";
import { formatted } from "./json.ts";

/** A version of the API, named by its date (docs/api.md#versions). */
export type Version = {
	/** `YYYY-MM-DD` */
	date: string;
	/**
	 * Turns the body of a response of this version into that of the version before it, by operation
	 * (`GET /api/users/:uuid`). Operations that are left out have not changed.
	 */
	downgrade?: Record<string, (body: object) => object>;
};

export const FIRST_VERSION = "2026-11-21";
export const CURRENT_VERSION = "2026-11-21";

/** All versions that a request may choose, newest first. */
export const VERSIONS: readonly Version[] = [{ date: CURRENT_VERSION }];

/**
 * The body of a response in the version that its request chose.
 * @param body JSON of today's version
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
	return JSON.stringify(steps.reduce((answer, step) => step(answer), JSON.parse(body)));
}

/** For how long a version is served after the next one has come. */
const SUPPORT_MONTHS = 12;

/** The headers of a version that isn't the newest (RFC 9745, RFC 8594); empty for the newest. */
function deprecation(version: string, versions: readonly Version[]): Record<string, string> {
	const next = versions[versions.findIndex(({ date }) => date === version) - 1];
	if (!next) return {};
	const since = new Date(next.date);
	const sunset = new Date(next.date);
	sunset.setUTCMonth(sunset.getUTCMonth() + SUPPORT_MONTHS);
	return { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString() };
}

/**
 * Turns the responses of the routes after it into those of the version that the request gets, and
 * says which one it is (docs/api.md#versions).
 */
export const answerInVersion = (versions: readonly Version[] = VERSIONS) =>
	createMiddleware<App>(async (c, next) => {
		await next();
		const version = c.get("version") ?? CURRENT_VERSION;
		c.res.headers.set("Tenantry-Version", version);
		for (const [name, value] of Object.entries(deprecation(version, versions)))
			c.res.headers.set(name, value);
		const compact = c.get("compact");
		if (version === versions[0]?.date || compact === undefined || !c.res.ok) return;
		const method = c.req.method === "HEAD" ? "GET" : c.req.method;
		const older = represent(compact.text, `${method} ${routePath(c, -1)}`, version, versions);
		c.res = new Response(formatted(c, older), c.res);
	});

/**
 * The routes after it get the version that `Tenantry-Version` chooses, else the one that the key was
 * made with, else the newest.
 */
export const chooseVersion = (versions: readonly Version[] = VERSIONS) =>
	createMiddleware<App>(async (c, next) => {
		const asked = c.req.header("tenantry-version")?.trim();
		if (asked !== undefined && !versions.some(({ date }) => date === asked))
			throw unknownVersion(versions.map(({ date }) => date));
		c.set("version", asked ?? versionOf(c.get("key"), versions));
		await next();
	});

/** Keys that are older than the oldest version that is still served get that one. */
function versionOf(key: Key | undefined, versions: readonly Version[]) {
	if (!key) return versions[0]?.date;
	const made = key.version ?? FIRST_VERSION;
	return versions.find(({ date }) => date === made)?.date ?? versions.at(-1)?.date;
}
