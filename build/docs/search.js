/** Searches the titles, headings and texts of all pages, which are loaded with the first search. */
const field = document.getElementById("find");
const found = document.getElementById("found");
const MAX_RESULTS = 30;

/** Returns how well an entry matches: 0 not at all, 3 best. */
function rank(words, page, heading) {
	const has = (text) => words.every((word) => text.toLowerCase().includes(word));
	if (heading === undefined) return has(page) ? 3 : 0;
	if (has(heading)) return 2;
	return has(`${page} ${heading}`) && !has(page) ? 1 : 0;
}

/** Returns the titles and headings, in the order in which the index of texts numbers them. */
const entriesOf = (pages) =>
	pages.flatMap(([page, path, headings]) => [
		{ page, path },
		...headings.map(([heading, id]) => ({ page, heading, path: `${path}#${id}` })),
	]);

/** Loads the headings and the index of texts, with the first search. */
let loaded;

async function load() {
	const { headings, finder, texts } = document.getElementById("finder").dataset;
	const [{ default: pages }, { finderOf }, { default: index }] = await Promise.all(
		[headings, finder, texts].map((path) => import(path)),
	);
	return { entries: entriesOf(pages), find: finderOf(index) };
}

/** Returns the entries whose titles or headings have the words, then those whose texts have them. */
async function resultsFor(text) {
	loaded ??= load();
	const { entries, find } = await loaded;
	const words = text.split(/\s+/);
	const ranked = entries.map((entry) => ({ entry, rank: rank(words, entry.page, entry.heading) }));
	const named = ranked.filter(({ rank }) => rank > 0).sort((a, b) => b.rank - a.rank);
	const inTexts = find(text).map((id) => entries[id]);
	return [...new Set([...named.map(({ entry }) => entry), ...inTexts])];
}

function itemOf({ page, heading, path }) {
	const link = document.createElement("a");
	link.href = path;
	link.append(heading ?? page);
	if (heading !== undefined) {
		const place = document.createElement("span");
		place.append(page);
		link.append(" ", place);
	}
	const item = document.createElement("li");
	item.append(link);
	return item;
}

function countOf(count) {
	if (count === 0) return "No page has these words.";
	if (count > MAX_RESULTS) return `The first ${MAX_RESULTS} of ${count} results:`;
	return count === 1 ? "1 result:" : `${count} results:`;
}

async function search() {
	const text = field.value.trim().toLowerCase();
	const results = text === "" ? [] : await resultsFor(text);
	// Someone has typed on while the index was loaded.
	if (text !== field.value.trim().toLowerCase()) return;
	found.replaceChildren(...results.slice(0, MAX_RESULTS).map(itemOf));
	found.hidden = text === "";
	document.getElementById("all").hidden = text !== "";
	document.getElementById("count").textContent = text === "" ? "" : countOf(results.length);
}

field.addEventListener("input", search);
field.addEventListener("keydown", ({ key }) => {
	if (key === "Enter") found.querySelector("a")?.click();
});
// On a phone, the results are in a menu, which a link to a heading of this page leaves open.
found.addEventListener("click", () => document.getElementById("pages").hidePopover());
// Browsers restore the text of the field when a page is opened again.
if (field.value) search();
