declare namespace Cloudflare {
	interface Env {
		MIGRATIONS: import("@cloudflare/vitest-plugin").D1Migration[];
		/** A resolver that never answers, and one that isn't there. */
		DOH_SILENT: string;
		DOH_NOBODY: string;
	}
}
