/** Searches the texts of the pages, in the browser. Loaded with the first search (search.js). */
import MiniSearch, { type Options } from "minisearch";
import { stemsOf } from "../../src/mcp/server/words.ts";

/** Shorter words aren't taken for the beginning of others. */
const MIN_PREFIX = 3;

/** Names in code, such as `Retry-After` and `TENANTRY_KEY`. */
const NAME = /\w+(?:[-_]\w+)+/g;

export const OPTIONS: Options = {
	fields: ["heading", "text"],
	tokenize: (text) => [...stemsOf(text), ...(text.toLowerCase().match(NAME) ?? [])],
};

/** Returns a function that finds the numbers of the sections with all words of a text, best first. */
export function finderOf(index: string): (text: string) => number[] {
	const search = MiniSearch.loadJSON(index, {
		...OPTIONS,
		searchOptions: {
			processTerm: (word) => word,
			boost: { heading: 3 },
			combineWith: "AND",
			prefix: (word) => word.length >= MIN_PREFIX,
			weights: { prefix: 0.2, fuzzy: 0 },
		},
	});
	return (text) => search.search(text).map(({ id }) => id);
}
