/** Checks the references to the documentation, in code and between pages. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import GithubSlugger from "github-slugger";
import { filesOf } from "../../build/files.ts";

const read = (path: string) => readFileSync(path, "utf8");

/** Returns the anchors that GitHub generates for the headings of a page. */
const anchorsOf = (page: string) => {
	const slugger = new GithubSlugger();
	return [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
		slugger.slug(heading),
	);
};

/** Whether the target of a reference, `path` or `path#anchor`, exists. */
function isValidReference(reference: string) {
	const [path = "", anchor] = reference.split("#");
	if (!existsSync(path)) return false;
	return anchor === undefined || !path.endsWith(".md") || anchorsOf(path).includes(anchor);
}

/** Returns the targets of links `[text](path#anchor)` in a page, relative to the repository. */
const linksOf = (page: string) =>
	[...read(page).matchAll(/\]\(([^)\s:]+)\)/g)].map(([, link = ""]) =>
		link.startsWith("#") ? page + link : normalize(join(dirname(page), link)),
	);

/** Returns the references to pages of `docs/` in a file, with their anchors. */
const mentionsOf = (file: string) =>
	[...read(file).matchAll(/\bdocs\/[\w/]+\.md(?:#[\w-]+)?/g)].map(([mention]) => mention);

/**
 * Finds references to pages or headings that don't exist. Returns each with the file that contains
 * it.
 */
export const findDeadReferences = () => [
	...filesOf("*.md").flatMap((page) =>
		linksOf(page)
			.filter((link) => !isValidReference(link))
			.map((link) => `${page}: ${link}`),
	),
	...filesOf("src", "test", "scripts", "build", "judges", "packages", "*.toml", "*.ts").flatMap(
		(file) =>
			mentionsOf(file)
				.filter((mention) => !isValidReference(mention))
				.map((mention) => `${file}: ${mention}`),
	),
];
