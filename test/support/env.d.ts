declare namespace Cloudflare {
	interface Env {
		MIGRATIONS: import("@cloudflare/vitest-plugin").D1Migration[];
	}
}
