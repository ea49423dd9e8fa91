/** Finds the pages of the documentation: the tables in README.md, and `docs/internals/`. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import { type Rendered, render, renderInline } from "./markdown.ts";

const root = `${import.meta.dirname}/../..`;

export type Page = {
	/** The path on the site, such as `/docs/api`. */
	path: string;
	/** The name in the navigation; the title if the page isn't in it. */
	name: string;
	/** The topic, as HTML; empty for a page without an introduction. */
	about: string;
	/** Whether the page is only for those who run or change the service. */
	isInner: boolean;
} & Rendered;

/** Returns the path on the site of a file of the repository. */
const pathOf = (file: string) =>
	`/docs/${file
		.replace(/^docs\//, "")
		.replace(/\.md$/, "")
		.replace(/\/README$/, "")
		.toLowerCase()}`;

const linksOf = (tokens: Token[]) =>
	tokens.filter((token): token is Tokens.Link => token.type === "link");

/**
 * Returns the parts of README.md that the site uses: the first paragraph and the two tables of
 * pages.
 */
function readme() {
	const tokens = new Marked().lexer(readFileSync(`${root}/README.md`, "utf8"));
	const introduction = tokens.find((token) => token.type === "paragraph")?.raw ?? "";
	const tables = tokens.filter((token): token is Tokens.Table => token.type === "table");
	const files = tables.slice(-2).flatMap(({ rows }, i) =>
		rows.flatMap(([page, about]) =>
			linksOf(page?.tokens ?? []).map(({ href, text }) => ({
				file: href,
				name: text,
				about: about?.text ?? "",
				isInner: i === 1,
			})),
		),
	);
	return { introduction, files };
}

/** Returns the pages of the navigation and the internal ones, each in their order. */
export function readPages() {
	const { introduction, files } = readme();
	const internals = globSync("docs/internals/**/*.md", { cwd: root })
		.filter((path) => files.every(({ file }) => file !== path))
		.sort();
	const known = new Set([...files.map(({ file }) => file), ...internals]);
	/** Maps links between files of the repository to links between pages. */
	const linkFrom = (file: string) => (href: string) => {
		if (/^(#|https:)/.test(href)) return href;
		const [target = "", anchor] = href.split("#");
		const to = normalize(join(dirname(file), target));
		if (!known.has(to))
			throw new Error(`${file} links to ${href}, which isn't a page of the site.`);
		return pathOf(to) + (anchor === undefined ? "" : `#${anchor}`);
	};
	const read = (file: string) => {
		const page = render(readFileSync(`${root}/${file}`, "utf8"), linkFrom(file));
		return { path: pathOf(file), name: page.title, about: "", isInner: true, ...page };
	};
	return {
		introduction: renderInline(introduction, linkFrom("README.md")),
		pages: files.map(
			({ file, name, about, isInner }): Page => ({
				...read(file),
				name,
				isInner,
				about: renderInline(about, linkFrom("README.md")),
			}),
		),
		internals: internals.map((file): Page => read(file)),
	};
}
