declare namespace Cloudflare {
	interface Env {
		MIGRATIONS: import("@cloudflare/vitest-plugin").D1Migration[];
		/** A resolver that never answers, and one that isn't there. */
		DOH_SILENT: string;
		DOH_NOBODY: string;
		/** A host that plugins may not be installed from, which counts who asks. */
		FOREIGN_URL: string;
		/** The registry that npm on this machine asks; "": it has none. */
		PUBLISHED_NPM_REGISTRY_URL: string;
	}
}
