/** Checks the order in which folders of src/ may import each other (docs/architecture.md#where-things-are). */
import type { Metafile } from "esbuild";

/** A folder may import only from itself and from folders before it. Files directly in src/ come after all folders. */
const ORDER = [
	"node",
	"log",
	"http",
	"docs",
	"db",
	"auth",
	"isolates",
	"outbound",
	"delivery",
	"tenant",
	"activity_log",
	"feed",
	"exporter",
	"webhooks",
	"plugins",
	"jobs",
	"plugin_configs",
	"batch_exports",
	"audit_streams",
	"domains",
	"events",
	"personal_api_keys",
	"projects",
	"users",
	"two_factor",
	"sign_in",
	"service_accounts",
	"project_members",
	"organizations",
	"members",
	"notifications",
	"invites",
	"operator",
	"mcp",
];

const folderOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1];

/** Finds imports that point the wrong way. Uses the imports that the bundler resolved, so type-only imports aren't checked. */
export function findWrongImports({ inputs }: Metafile): string[] {
	return Object.entries(inputs).flatMap(([path, { imports }]) => {
		const from = folderOf(path);
		if (from === undefined) return [];
		if (!ORDER.includes(from)) return [`${path}: ${from}/ is not in ORDER of scripts/imports.ts`];
		return imports.flatMap(({ path: imported }) => {
			const to = folderOf(imported);
			const isAllowed =
				to === undefined
					? !/^src\/[^/]+\.ts$/.test(imported)
					: to === from || ORDER.indexOf(to) < ORDER.indexOf(from);
			return isAllowed ? [] : [`${path} imports ${imported}`];
		});
	});
}
