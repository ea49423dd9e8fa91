/** Checks the order in which the groups of src/ may import each other (docs/internals/architecture.md#where-things-are). */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * A group may import only from itself and from groups before it. Of the files directly in src/, groups import only `env.ts`,
 * which imports nothing.
 */
const GROUPS = [
	"lib",
	"http",
	"db",
	"auth",
	"outbound",
	"delivery",
	"access",
	"docs",
	"activity",
	"exports",
	"plugins",
	"accounts",
	"operator",
	"mcp",
];

const groupOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1];

/** Matches the relative path of an import, also of types, and of `import()`. */
const IMPORT = /(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/** Finds imports, also of types, that point the wrong way. */
export function findWrongImports(): string[] {
	const files = readdirSync("src", { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
		.map((entry) => join(entry.parentPath, entry.name));
	return files.flatMap((path) => {
		const from = groupOf(path);
		if (from === undefined) return [];
		if (!GROUPS.includes(from)) return [`${path}: ${from}/ is not in GROUPS of scripts/imports.ts`];
		return [...readFileSync(path, "utf8").matchAll(IMPORT)].flatMap(([, specifier = ""]) => {
			const imported = join(dirname(path), specifier);
			const to = groupOf(imported);
			const isAllowed =
				to === undefined
					? imported === "src/env.ts" || !imported.startsWith("src/")
					: GROUPS.indexOf(to) <= GROUPS.indexOf(from);
			return isAllowed ? [] : [`${path} imports ${imported}`];
		});
	});
}
