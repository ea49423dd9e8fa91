/** The HTML layout of the documentation pages. */
import { html, raw } from "hono/html";
import type { Heading } from "./markdown.ts";
import type { Page } from "./pages.ts";

/** The paths of assets, by name without the hash. */
export type Assets = Record<
	| "style.css"
	| "icon.svg"
	| "copy.js"
	| "menu.js"
	| "reference.js"
	| "search.js"
	| "headings.js"
	| "finder.js"
	| "texts.js",
	string
>;

/** A link in the navigation. */
type Entry = Pick<Page, "path" | "name" | "about" | "isInner">;

/** The overview of the API reference. */
export const REFERENCE: Entry = {
	path: "/docs/reference",
	name: "API reference",
	about: "every operation with its fields; try requests with your key",
	isInner: false,
};

/** The title of the pages that users of the API don't need. */
const INNER = "To run or change the service";

type Shell = {
	/** The title, as HTML. */
	title: string;
	/** The path; undefined for the page for missing pages. */
	path?: string;
	/** An additional script. */
	script?: string;
	/** The table of contents. */
	contents?: unknown;
	main: unknown;
};

/** Returns a function that adds the site's header and navigation to a page. */
export const layout =
	(assets: Assets, entries: Entry[]) =>
	({ title, path = "", script, contents = "", main }: Shell) => {
		const current = (to: string) => {
			if (to === path) return raw(' aria-current="page"');
			return to !== "/docs" && path.startsWith(`${to}/`) ? raw(' aria-current="true"') : "";
		};
		const links = (isInner: boolean) =>
			entries
				.filter((entry) => entry.isInner === isInner)
				.map(({ path, name }) => html`<li><a href="${path}"${current(path)}>${name}</a></li>\n`);
		return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${raw(title.replace(/<[^>]+>/g, ""))} · Tenantry</title>
<link rel="icon" href="${assets["icon.svg"]}" type="image/svg+xml">
<link rel="stylesheet" href="${assets["style.css"]}">
<script type="module" src="${assets["search.js"]}"></script>
<script type="module" src="${assets["copy.js"]}"></script>
${
	contents &&
	html`<script type="module" src="${assets["menu.js"]}"></script>
`
}${
	script &&
	html`<script type="module" src="${script}"></script>
`
}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="/docs"><img src="${assets["icon.svg"]}" alt="" width="24" height="24"> Tenantry</a>
${contents && html`<button class="for-contents" popovertarget="contents">On this page</button>`}
<button class="for-pages" popovertarget="pages">Pages</button>
</header>
<nav id="pages" class="menu" popover aria-label="Pages">
<search id="finder" data-headings="${assets["headings.js"]}" data-finder="${assets["finder.js"]}" data-texts="${assets["texts.js"]}">
<label for="find">Search the documentation</label>
<input id="find" type="search" autocomplete="off" spellcheck="false" aria-controls="found">
<p id="count" role="status"></p>
<ul id="found" hidden></ul>
</search>
<div id="all">
<ul>
<li><a href="/docs"${current("/docs")}>Overview</a></li>
${links(false)}</ul>
<h2>${INNER}</h2>
<ul>
${links(true)}</ul>
</div>
</nav>
<main id="content" tabindex="-1">
${main}
</main>
${contents}
</body>
</html>
`);
	};

/** Returns the table of contents of a page: its headings of the second and third level. */
export function tableOfContents(headings: Heading[]) {
	const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
	if (shown.length < 2) return "";
	return html`<nav id="contents" class="menu" popover aria-labelledby="contents-title">
<h2 id="contents-title">On this page</h2>
<ul>
${shown.map(({ depth, id, html: text }) => html`<li class="depth-${depth}"><a href="#${id}">${raw(text)}</a></li>\n`)}</ul>
</nav>`;
}

const cards = (entries: Entry[]) => html`<ul class="cards">
${entries
	.filter(({ about }) => about)
	.map(
		({ path, name, about }) =>
			html`<li class="card"><a href="${path}">${name}</a><span>${raw(about)}</span></li>\n`,
	)}</ul>`;

/** Returns the first page: the introduction, and the topics of the other pages. */
export const overview = (introduction: string, entries: Entry[]) => html`<article><h1>Tenantry</h1>
<p class="introduction">${raw(introduction)}</p>
${cards(entries.filter(({ isInner }) => !isInner))}
<h2>${INNER}</h2>
${cards(entries.filter(({ isInner }) => isInner))}</article>`;

type Link = Pick<Entry, "path" | "name"> & { about?: string };

/** Removes links from HTML, which can't be in a link. */
const withoutLinks = (text: string) => text.replace(/<\/?a\b[^>]*>/g, "");

/** Returns links to the previous and the next page. */
export const neighbours = (before: Link | undefined, after: Link | undefined) =>
	html`<nav class="neighbours" aria-label="Previous and next page">
${before && html`<a rel="prev" href="${before.path}">${before.name}</a>`}
${
	after &&
	html`<a rel="next" href="${after.path}">Next: ${after.name}${after.about && html`<span>${raw(withoutLinks(after.about))}</span>`}</a>`
}
</nav>`;
