import type { Key } from "./auth/keys.ts";
import type { Meter } from "./http/meter.ts";
import type { Scope } from "./tenant/scopes.ts";
import type { Tenant } from "./tenant/tenant.ts";

declare global {
	/** The secrets, which wrangler.toml doesn't name. */
	interface __BaseEnv_Env {
		/** 32 random bytes in base64; several, separated by commas, while a new one takes over: the newest first. */
		SECRETS_KEY?: string;
		/** Of ClickHouse's user. */
		CLICKHOUSE_PASSWORD?: string;
	}
}

/** What Hono carries: the worker's bindings (generated from wrangler.toml) and what middleware puts on a request. */
export type App = {
	Bindings: Env;
	Variables: {
		requestId: string;
		meter: Meter;
		/** Where in D1's history the answer stands, once D1 was asked. */
		bookmark: (() => string | null) | undefined;
		key: Key & { hash: string };
		scope: Scope;
		/** The level that the route asks of the caller. */
		level: number | undefined;
		/** The `plugins_access_level` that the route asks of the caller's organization. */
		plugins: number | undefined;
		tenant: Tenant;
		/** What inline styles and scripts of a page must carry. */
		secureHeadersNonce?: string;
	};
};
