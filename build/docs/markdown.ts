/** Renders Markdown pages, with the same anchors of headings as GitHub. */
import { renderMermaidSVG } from "beautiful-mermaid";
import GithubSlugger from "github-slugger";
import { Marked, Renderer, type Tokens } from "marked";

export type Heading = { depth: number; id: string; html: string };

export type Rendered = { title: string; html: string; headings: Heading[] };

const escapeHtml = (text: string) =>
	text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/**
 * Wraps a part that can be wider than the page, so that it scrolls separately, also by keyboard.
 */
const scrollable = (name: string, label: string, content: string) =>
	`<div class="${name}" role="group" aria-label="${label}" tabindex="0">${content}</div>\n`;

/**
 * Renders a diagram as SVG without styles. Its colours are variables of style.css, and its font is
 * the page's.
 */
const diagram = (source: string) =>
	renderMermaidSVG(source)
		.replace(/<style>[\s\S]*?<\/style>/, "")
		.replace(/ style="--[^"]*"/, ' role="img" aria-label="Diagram; its source follows as text"');

class PageRenderer extends Renderer {
	readonly headings: Heading[] = [];
	readonly #slugger = new GithubSlugger();
	readonly #link: (href: string) => string;

	constructor(link: (href: string) => string) {
		super();
		this.#link = link;
	}

	override heading({ tokens, depth }: Tokens.Heading) {
		const html = this.parser.parseInline(tokens);
		const id = this.#slugger.slug(this.parser.parseInline(tokens, this.parser.textRenderer));
		this.headings.push({ depth, id, html });
		const anchor =
			depth > 1 ? ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>` : "";
		return `<h${depth} id="${id}">${html}${anchor}</h${depth}>\n`;
	}

	override link(token: Tokens.Link) {
		return super.link({ ...token, href: this.#link(token.href) });
	}

	override table(token: Tokens.Table) {
		return scrollable("table", "Table", super.table(token));
	}

	override code(token: Tokens.Code) {
		if (token.lang !== "mermaid") return scrollable("code", "Code", super.code(token));
		const source = `<details><summary>The diagram as text</summary><pre><code>${escapeHtml(token.text)}</code></pre></details>`;
		return `<figure>${scrollable("diagram", "Diagram", diagram(token.text))}${source}</figure>\n`;
	}
}

/**
 * Renders a page.
 * @param markdown GitHub Flavored Markdown. The first heading is the title.
 * @param link returns the target on the site of a link of the page; throws if there is none
 */
export function render(markdown: string, link: (href: string) => string): Rendered {
	const renderer = new PageRenderer(link);
	const html = new Marked().parse(markdown, { renderer, async: false });
	const { headings } = renderer;
	return { title: headings[0]?.html ?? "", html, headings };
}

/** Renders a single line, without a paragraph. */
export const renderInline = (markdown: string, link: (href: string) => string) =>
	String(new Marked().parseInline(markdown, { renderer: new PageRenderer(link), async: false }));
