/** Builds what the search finds in texts (search.js, finder.ts): the words of each section. */
import MiniSearch from "minisearch";
import { saidFor } from "../../src/mcp/server/words.ts";
import { OPTIONS } from "./finder.ts";
import { type Page, textOf } from "./headings.ts";

/** Returns the texts of a page between its headings, by the ids of these. */
function sectionsOf(html: string): Map<string, string> {
	const [, ...parts] = html.split(/<h[1-6] id="/);
	return new Map(
		parts.map((part) => [
			part.slice(0, part.indexOf('"')),
			textOf(part.slice(part.indexOf(">") + 1)),
		]),
	);
}

/**
 * Returns a script with the index of the sections of these pages, as JSON. Their numbers count the
 * titles and headings of the script of headings.
 */
export function textsScript(pages: Page[]): string {
	const index = new MiniSearch({
		...OPTIONS,
		// People who look for `rotate` mean a heading about rolling.
		processTerm: (word, field) => (field === "heading" ? [word, ...saidFor(word)] : word),
	});
	let id = 0;
	const add = (heading: string, text = "") => {
		index.add({ id, heading: textOf(heading), text });
		id += 1;
	};
	for (const { name, headings, html = "" } of pages) {
		const sections = sectionsOf(html);
		const [title] = headings;
		add(name, title?.depth === 1 ? sections.get(title.id) : undefined);
		for (const { id: anchor, html: heading } of headings.filter(({ depth }) => depth > 1))
			add(heading, sections.get(anchor));
	}
	return `export default ${JSON.stringify(JSON.stringify(index))};\n`;
}
