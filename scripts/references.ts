/** References to the documentation, in code and in the documents themselves. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const read = (path: string) => readFileSync(path, "utf8");

/** What forges make of a heading for its address. */
const anchorOf = (heading: string) =>
	heading
		.toLowerCase()
		.replace(/[^\p{L}\p{N}\s_-]/gu, "")
		.replace(/\s/g, "-");

const anchorsOf = (page: string) =>
	[...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));

/** Whether a reference, `path` or `path#anchor`, leads somewhere. */
function leadsSomewhere(reference: string) {
	const [path = "", anchor] = reference.split("#");
	if (!existsSync(path)) return false;
	return anchor === undefined || !path.endsWith(".md") || anchorsOf(path).includes(anchor);
}

/** `[text](path#anchor)` in a document, relative to it. */
const linksOf = (page: string) =>
	[...read(page).matchAll(/\]\(([^)\s:]+)\)/g)].map(([, link = ""]) =>
		link.startsWith("#") ? page + link : normalize(join(dirname(page), link)),
	);

/** Pages of `docs/` that code mentions, with the heading after `#`. */
const mentionsOf = (file: string) =>
	[...read(file).matchAll(/\bdocs\/[\w/]+\.md(?:#[\w-]+)?/g)].map(([mention]) => mention);

const list = (...patterns: string[]) =>
	execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], {
		encoding: "utf8",
	})
		.split("\n")
		.filter((path) => path !== "" && existsSync(path));

/** Finds references that lead nowhere, each with the file that has it. */
export const findDeadReferences = () => [
	...list("*.md").flatMap((page) =>
		linksOf(page)
			.filter((link) => !leadsSomewhere(link))
			.map((link) => `${page}: ${link}`),
	),
	...list("src", "test", "scripts", "bench", "*.toml", "*.ts").flatMap((file) =>
		mentionsOf(file)
			.filter((mention) => !leadsSomewhere(mention))
			.map((mention) => `${file}: ${mention}`),
	),
];
