import { type Column, type SQL, sql } from "drizzle-orm";

/** Letters that fold to something else than what their upper case becomes in lower case. */
const FOLDED = new Map([
	["ß", "ss"],
	["ẞ", "ss"],
	["ς", "σ"],
	["ı", "i"],
	["İ", "i"],
	["µ", "μ"],
	["Å", "å"],
	["Ω", "ω"],
	["ǅ", "ǆ"],
	["ǈ", "ǉ"],
	["ǋ", "ǌ"],
	["ǲ", "ǳ"],
]);

/** How many letters are folded at most: each nests the expression one deeper, and D1 allows 100 levels. */
const MAX_FOLDED_LENGTH = 50;

const fold = (text: string) =>
	Array.from(text, (letter) => FOLDED.get(letter) ?? letter.toLowerCase()).join("");

/** The letters outside ASCII that have to be replaced in a text to find `needle`, which is folded, and by what. */
function replacements(needle: string) {
	const capitals = [...new Set(needle)].flatMap((letter): [string, string][] => {
		const capital = letter.toUpperCase();
		return letter > "\x7f" && capital !== letter && [...capital].length === 1
			? [[capital, letter]]
			: [];
	});
	const others = [...FOLDED].filter(([, folded]) => needle.includes(folded));
	return [...others, ...capitals].slice(0, MAX_FOLDED_LENGTH);
}

/** A text as SQL that is made of numbers alone. */
const literal = (text: string) =>
	sql.raw(`char(${Array.from(text, (letter) => letter.codePointAt(0)).join(", ")})`);

/**
 * In a statement: `text` contains `needle`, in any case of any script. SQLite's lower() knows only ASCII, so the
 * capitals of the needle's other letters are replaced one by one.
 */
export function contains(text: SQL | Column, needle: string): SQL {
	const folded = fold(needle);
	const haystack = replacements(folded).reduce(
		(inner, [letter, to]) => sql`replace(${inner}, ${literal(letter)}, ${literal(to)})`,
		sql`lower(${text})`,
	);
	return sql`instr(${haystack}, ${folded}) > 0`;
}
