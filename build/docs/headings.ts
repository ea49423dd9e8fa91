/** Collects what the search finds (search.js): the titles and headings of all pages. */
import { REFERENCE } from "./layout.ts";
import type { Heading } from "./markdown.ts";

/** A page; without HTML, only its headings are searched. */
export type Page = { path: string; name: string; headings: Heading[]; html?: string };

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };

export const textOf = (html: string) =>
	html
		.replace(/<[^>]+>/g, "")
		.replace(/&(#?\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity);

/** Returns the pages of the reference with their operations, without the objects in these. */
export const operationsOf = (pages: Page[]): Page[] =>
	pages.map(({ path, name, headings }) => ({
		path,
		name: path === REFERENCE.path ? name : `${name} (reference)`,
		headings: headings.filter(({ depth, id }) => depth === 2 && id !== "objects"),
	}));

/** Returns a script with `[page, path, [[heading, anchor], …]]` for each page, in this order. */
export const headingsScript = (pages: Page[]) =>
	`export default ${JSON.stringify(
		pages.map(({ path, name, headings }) => [
			textOf(name),
			path,
			headings.filter(({ depth }) => depth > 1).map(({ id, html }) => [textOf(html), id]),
		]),
	)};\n`;
