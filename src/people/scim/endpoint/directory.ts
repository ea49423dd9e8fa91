import { and, eq, gt, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { BatchResponse } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { commit, type Write } from "../../../access/unit_of_work.ts";
import { connect } from "../../../db/bookmark.ts";
import {
	assertThat,
	type Connected,
	type ResultOf,
	runBatch,
	type Statement,
} from "../../../db/client.ts";
import type { Entry } from "../../../db/record.ts";
import { domains, isMoving, notMoving, organizations } from "../../../db/schema/organizations.ts";
import { scimTokens } from "../../../db/schema/scim.ts";
import type { App } from "../../../env.ts";
import { ApiError, forbidden, RETRY_AFTER } from "../../../http/errors.ts";
import { isRead } from "../../../http/methods.ts";
import { countRequest } from "../../../http/rate_limit.ts";
import { countFailure } from "../../../keys/addresses.ts";
import { digest, isExpired, isWellFormed } from "../../../keys/keys.ts";
import { HOUR_MS, iso, now } from "../../../lib/time.ts";
import { TOKEN_PREFIX } from "../domain.ts";

declare module "hono" {
	interface ContextVariableMap {
		directory: Directory;
	}
}

/** The token of a request, with its domain. */
type Provider = {
	token_label: string;
	token_id: string;
	expires_at: string | null;
	last_used_at: string | null;
	organization_id: number;
	domain: string;
	verified_at: string | null;
	is_moving: boolean;
};

type DirectoryWrite<A extends Record<string, Statement | undefined>> = Omit<Write<A>, "entries"> & {
	entries?: readonly Entry[];
};

/** Providers repeat a request that gets a 503, and give up after a 409. */
const moving = () =>
	new ApiError({
		status: 503,
		code: "moving",
		detail: "The organization is being moved. Send the request again later.",
		headers: { "Retry-After": RETRY_AFTER },
	});

const badToken = () =>
	new ApiError({
		status: 401,
		code: "authentication_failed",
		detail: "The SCIM token is missing, unknown, expired, or belongs to another domain.",
		headers: { "WWW-Authenticate": "Bearer" },
	});

/**
 * The only way for the SCIM endpoint to access the database: the users and groups of one domain.
 * The guard (the token is the domain's, hasn't expired, and the domain is verified) runs in the same
 * batch as the request's queries, and again in each write.
 */
export class Directory {
	readonly db: Connected;
	readonly domain_id: string;
	readonly #c: Context<App>;
	readonly #hash: string;
	readonly #session: ReturnType<typeof connect>;
	#provider: Provider | undefined;
	#hasRead = false;

	constructor(c: Context<App>, hash: string) {
		this.#session = connect(c);
		this.db = this.#session.db;
		this.#c = c;
		this.#hash = hash;
		this.domain_id = (c.req.param("domain_id") ?? "").toLowerCase();
	}

	get env() {
		return this.#c.env;
	}

	/** The base URL of the endpoint. */
	get url() {
		return new URL(`/scim/v2/${this.domain_id}`, this.#c.req.url).href;
	}

	/** Whether the guard has run. */
	get hasRead() {
		return this.#hasRead;
	}

	/** Whether the token is one of the domain's. */
	get isKnown() {
		return this.#provider !== undefined;
	}

	/** The rows that the guard has read. Throws if `read` hasn't returned yet. */
	get provider(): Provider {
		if (!this.#provider) throw new Error("The guard has not run yet.");
		return this.#provider;
	}

	/** SQL for the id of the domain's organization; null if the token isn't the domain's. */
	get organization(): SQL<number> {
		return this.#provider
			? sql`${this.#provider.organization_id}`
			: sql`(select ${scimTokens.organization_id} from ${scimTokens} where ${this.#isToken})`;
	}

	get #isToken() {
		return sql`${and(eq(scimTokens.hash, this.#hash), eq(scimTokens.domain_id, this.domain_id))}`;
	}

	get #ofDomain() {
		return and(
			eq(domains.organization_id, scimTokens.organization_id),
			eq(domains.id, scimTokens.domain_id),
		);
	}

	/**
	 * Runs the guard and `queries` in one round trip.
	 * @throws 401 if the token isn't valid, 403 if the domain isn't verified, 503 for a change while the
	 * organization is moving, 429
	 */
	read<Q extends readonly Statement[]>(...queries: Q): Promise<BatchResponse<Q>>;
	async read(...queries: Statement[]): Promise<unknown> {
		const guard = this.db
			.select({
				token_id: scimTokens.id,
				token_label: scimTokens.mask_value,
				expires_at: scimTokens.expires_at,
				last_used_at: scimTokens.last_used_at,
				organization_id: domains.organization_id,
				domain: domains.domain,
				verified_at: domains.verified_at,
				is_moving: isMoving,
			})
			.from(scimTokens)
			.innerJoin(domains, this.#ofDomain)
			.innerJoin(organizations, eq(organizations.id, domains.organization_id))
			.where(this.#isToken);
		const send = () => runBatch(this.db, { guard, queries });
		let results = await send();
		// A replica may not have the token yet.
		if (!results.guard[0] && this.#session.usePrimary()) results = await send();
		this.#hasRead = true;
		const [provider] = results.guard;
		if (!provider) throw await countFailure(this.#c, badToken());
		this.#provider = provider;
		const { token_id, token_label } = provider;
		this.#c.set("usedKey", { id: token_id, kind: "scim_token", label: token_label });
		if (isExpired(provider)) throw await countFailure(this.#c, badToken());
		if (provider.verified_at === null)
			throw forbidden("The domain isn't verified. Verify it, then try again.");
		if (provider.is_moving && !isRead(this.#c.req.method)) throw moving();
		this.#noteUse(provider);
		return results.queries;
	}

	/**
	 * Runs a write as one transaction, in one round trip.
	 * @returns the rows of `answers`
	 * @throws 403 if the token has ended or the domain isn't verified any more
	 */
	write<A extends Record<string, Statement | undefined>>(
		write: DirectoryWrite<A>,
	): Promise<{ [K in keyof A]: ResultOf<A[K]> }> {
		const { organization_id, token_id } = this.provider;
		const isValid = and(
			this.#isToken,
			or(isNull(scimTokens.expires_at), gt(scimTokens.expires_at, now())),
			sql`${domains.verified_at} is not null`,
			notMoving(scimTokens.organization_id),
		);
		const hasAccess = sql`exists (select 1 from ${scimTokens} join ${domains} on ${this.#ofDomain} where ${isValid})`;
		const entries = (write.entries ?? []).map((entry) => ({
			user_id: null,
			organization: organization_id,
			project: null,
			...entry,
			trigger: { job_type: "scim", token_id, ...entry.trigger },
		}));
		const checks = [...(write.checks ?? []), assertThat(this.db, hasAccess, "has_access")];
		return commit(this.env, this.db, { ...write, checks, entries }, this.#c);
	}

	/** Runs a statement without delaying the response. */
	later(statement: Promise<unknown>) {
		this.#c.executionCtx.waitUntil(statement);
	}

	/** Updates the token's `last_used_at` at most once an hour. */
	#noteUse({ token_id, last_used_at }: Provider) {
		const before = iso(Date.now() - HOUR_MS);
		if (last_used_at !== null && last_used_at > before) return;
		const isStale = or(isNull(scimTokens.last_used_at), lt(scimTokens.last_used_at, before));
		this.later(
			drizzle(this.env.DB)
				.update(scimTokens)
				.set({ last_used_at: now() })
				.where(and(eq(scimTokens.id, token_id), isStale))
				.run(),
		);
	}
}

/** Sets the directory of the request. Values that can't be tokens don't reach the database. */
export const asProvider = createMiddleware<App>(async (c, next) => {
	const [scheme, value = "", extra] = c.req.header("authorization")?.trim().split(/\s+/) ?? [];
	const isToken = isWellFormed(value, TOKEN_PREFIX) && extra === undefined;
	if (scheme?.toLowerCase() !== "bearer" || !isToken) throw await countFailure(c, badToken());
	const hash = await digest(value);
	const tooMany = await countRequest(c, hash);
	if (tooMany) throw tooMany;
	c.set("directory", new Directory(c, hash));
	await next();
});

/**
 * Runs the guard for requests that haven't read anything: those for documents, and those with a bad
 * body, whose error says less than that of the guard.
 */
export const guarded = createMiddleware<App>(async ({ var: { directory } }, next) => {
	await next();
	if (!directory.hasRead) await directory.read();
});
