import { type Column, type SQL, sql } from "drizzle-orm";

/** Greek capitals with an iota, such as ᾈ, whose upper case is two letters. */
const WITH_IOTA = Array.from("ᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼ");

/**
 * Letters whose case folding is not `letter.toUpperCase().toLowerCase()`, or that other letters have as theirs. Those
 * that look like another letter are escaped, since editors replace them.
 */
const FOLDED = new Map([
	["ß", "ss"],
	["ẞ", "ss"],
	["ς", "σ"],
	["ı", "i"],
	["İ", "i"],
	["\u00b5", "μ"],
	["\u017f", "s"],
	["\u0345", "ι"],
	["\u03d0", "β"],
	["\u03d1", "θ"],
	["\u03d5", "φ"],
	["\u03d6", "π"],
	["\u03f0", "κ"],
	["\u03f1", "ρ"],
	["\u03f4", "θ"],
	["\u03f5", "ε"],
	["\u1e9b", "ṡ"],
	["\u1fbe", "ι"],
	["\u2126", "ω"],
	["\u212a", "k"],
	["\u212b", "å"],
	["ǅ", "ǆ"],
	["ǈ", "ǉ"],
	["ǋ", "ǌ"],
	["ǲ", "ǳ"],
	...WITH_IOTA.map((letter): [string, string] => [letter, letter.toLowerCase()]),
]);

/**
 * How many letters are replaced at most: each nests the expression one level deeper, and D1 allows
 * 100 levels.
 */
const MAX_FOLDED_LENGTH = 50;

/** The text in lower case, in every script. */
export const fold = (text: string) =>
	Array.from(text, (letter) => FOLDED.get(letter) ?? letter.toLowerCase()).join("");

/**
 * The replacements outside ASCII that a text needs before the folded `needle` can be found in it.
 */
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

/** A text as an SQL expression of code points, which needs no escaping and no bound value. */
const literal = (text: string) =>
	sql.raw(`char(${Array.from(text, (letter) => letter.codePointAt(0)).join(", ")})`);

/**
 * The needle, folded, in each of its spellings: an accent may be part of its letter (NFC) or a character of its own (NFD), and
 * texts are stored as they were typed.
 */
export const spellingsOf = (needle: string) => [
	...new Set([needle, needle.normalize("NFC"), needle.normalize("NFD")].map(fold)),
];

/**
 * SQL condition: `text` contains `needle`, ignoring case in every script. SQLite's lower() handles
 * only ASCII, so the upper case forms of the needle's other letters are replaced one by one.
 */
export function contains(text: SQL | Column, needle: string): SQL {
	const conditions = spellingsOf(needle).map((folded) => {
		const haystack = replacements(folded).reduce(
			(inner, [letter, to]) => sql`replace(${inner}, ${literal(letter)}, ${literal(to)})`,
			sql`lower(${text})`,
		);
		return sql`instr(${haystack}, ${folded}) > 0`;
	});
	return sql`(${sql.join(conditions, sql` or `)})`;
}
