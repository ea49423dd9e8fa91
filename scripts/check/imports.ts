/** Checks imports, types included (docs/internals/architecture.md#where-things-are). */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { filesOf } from "../../build/files.ts";

/** A folder may import only from itself and from folders before it. */
const FOLDERS = ["src", "packages", "build", "scripts", "test", "judges"];

/**
 * A group may import only from itself and from groups before it. Of the files directly in src/,
 * groups import only `env.ts`, which imports nothing.
 */
const GROUPS = [
	"lib",
	"http",
	"db",
	"keys",
	"outbound",
	"isolates",
	"delivery",
	"access",
	"people",
	"organizations",
	"sign_in",
	"oauth",
	"docs",
	"exports",
	"activity",
	"plugins",
	"deletions",
	"operator",
	"mcp",
];

/** Matches the relative path of an import, also of types, and of `import()`. */
const IMPORT = /(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/** Returns the imported paths of each file. */
export function readImports() {
	return new Map(
		filesOf(...FOLDERS.map((folder) => `${folder}/*.ts*`)).map((path) => [
			path,
			Array.from(readFileSync(path, "utf8").matchAll(IMPORT), ([, specifier = ""]) =>
				join(dirname(path), specifier),
			),
		]),
	);
}

const groupOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1];

/** Returns the folder of a file in its group, such as `src/people/scim`; deeper ones count as it. */
const folderOf = (path: string) => /^src\/[^/]+(?:\/[^/]+(?=\/))?/.exec(path)?.[0];

/** Returns the folders that each folder of a group imports. */
function foldersOf(imports: Map<string, string[]>) {
	const folders = new Map<string, Set<string>>();
	for (const [path, all] of imports)
		for (const imported of all) {
			const [from, to] = [folderOf(path), folderOf(imported)];
			if (!from || !to || from === to || groupOf(path) !== groupOf(imported)) continue;
			folders.set(from, (folders.get(from) ?? new Set()).add(to));
		}
	return new Map([...folders].map(([folder, imported]) => [folder, [...imported]]));
}

/** Returns the place in `FOLDERS`. The tests of packages are tests. */
const placeOf = (path: string) =>
	FOLDERS.indexOf(/^packages\/\w+\/test\//.test(path) ? "test" : path.slice(0, path.indexOf("/")));

function isAllowed(path: string, imported: string) {
	if (placeOf(imported) > placeOf(path)) return false;
	const from = groupOf(path);
	if (from === undefined || !imported.startsWith("src/")) return true;
	const to = groupOf(imported);
	return to === undefined
		? imported === "src/env.ts"
		: GROUPS.includes(from) && GROUPS.indexOf(to) <= GROUPS.indexOf(from);
}

/** Returns a line for each circle of imports, of files or of folders. */
function findCircles(imports: Map<string, string[]>) {
	const circles: string[] = [];
	const done = new Set<string>();
	function visit(path: string, trail: string[]) {
		const start = trail.indexOf(path);
		if (start >= 0) circles.push([...trail.slice(start), path].join(" imports "));
		if (start >= 0 || done.has(path)) return;
		for (const imported of imports.get(path) ?? []) visit(imported, [...trail, path]);
		done.add(path);
	}
	for (const path of imports.keys()) visit(path, []);
	return circles;
}

/** Finds imports that point the wrong way, and circles of files and of the folders in a group. */
export function findWrongImports(): string[] {
	const imports = readImports();
	const wrong = [...imports].flatMap(([path, all]) =>
		all
			.filter((imported) => !isAllowed(path, imported))
			.map((imported) => `${path} imports ${imported}`),
	);
	return [...wrong, ...findCircles(imports), ...findCircles(foldersOf(imports))];
}
