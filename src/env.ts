declare global {
	/** Secrets, which aren't in wrangler.toml. */
	interface __BaseEnv_Env {
		/** 32 random bytes in base64; in a rotation several, with commas, newest first. */
		SECRETS_KEY?: string;
		/** The password of `CLICKHOUSE_USER`. */
		CLICKHOUSE_PASSWORD?: string;
		/** The client secrets of the operator's providers (docs/sign-on.md). */
		SSO_GOOGLE_CLIENT_SECRET?: string;
		SSO_GITHUB_CLIENT_SECRET?: string;
		SSO_GITLAB_CLIENT_SECRET?: string;
	}
}

/** Hono's environment. Middleware declares its variables in `ContextVariableMap`. */
export type App = { Bindings: Env };
