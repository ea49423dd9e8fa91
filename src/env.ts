import type { Key } from "./auth/keys.ts";
import type { Compact } from "./http/json.ts";
import type { Meter } from "./http/meter.ts";
import type { Idempotency } from "./tenant/idempotency.ts";
import type { Precondition } from "./tenant/precondition.ts";
import type { ANY_KEY, Scope } from "./tenant/scopes.ts";
import type { Tenant } from "./tenant/tenant.ts";

declare global {
	/** Secrets, which aren't in wrangler.toml. */
	interface __BaseEnv_Env {
		/**
		 * 32 random bytes in base64. During a key rotation: several, separated by commas, newest first.
		 */
		SECRETS_KEY?: string;
		/** The password of `CLICKHOUSE_USER`. */
		CLICKHOUSE_PASSWORD?: string;
	}
}

/**
 * Hono's environment: the worker's bindings (generated from wrangler.toml) and the variables that
 * middleware sets.
 */
export type App = {
	Bindings: Env;
	Variables: {
		requestId: string;
		meter: Meter;
		/** The JSON of the response in its compact form, without a newline. */
		compact: Compact | undefined;
		/** Returns D1's bookmark after the latest query; undefined before the first session. */
		bookmark: (() => string | null) | undefined;
		key: Key & { hash: string };
		/** Whether the request has been counted against the rate limit of its key. */
		counts: true | undefined;
		scope: Scope | typeof ANY_KEY;
		/** The level that the route requires of the caller. */
		level: number | undefined;
		/** The `plugins_access_level` that the route requires of the caller's organization. */
		plugins: number | undefined;
		tenant: Tenant;
		/** The API version of the request; undefined if neither the request nor a key defines it. */
		version: string | undefined;
		/** Undefined without an `Idempotency-Key`. */
		idempotency: Idempotency | undefined;
		/** Undefined without `If-Match`. */
		precondition: Precondition | undefined;
		/** The nonce for a page's inline styles and scripts (Content-Security-Policy). */
		secureHeadersNonce?: string;
	};
};
