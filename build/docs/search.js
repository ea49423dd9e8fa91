/** Searches the titles and headings of all pages, which are loaded with the first search. */
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

function find(pages, words) {
	const all = pages.flatMap(([page, path, headings]) => [
		{ page, path, rank: rank(words, page) },
		...headings.map(([heading, id]) => ({
			page,
			heading,
			path: `${path}#${id}`,
			rank: rank(words, page, heading),
		})),
	]);
	return all.filter((entry) => entry.rank > 0).sort((a, b) => b.rank - a.rank);
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
	if (count === 0) return "No page or heading has these words.";
	if (count > MAX_RESULTS) return `The first ${MAX_RESULTS} of ${count} results:`;
	return count === 1 ? "1 result:" : `${count} results:`;
}

async function search() {
	const { default: pages } = await import(document.getElementById("finder").dataset.headings);
	const text = field.value.trim().toLowerCase();
	const results = text === "" ? [] : find(pages, text.split(/\s+/));
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
