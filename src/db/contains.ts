import { type Column, type SQL, sql } from "drizzle-orm";

/** Greek capitals with an iota, such as ᾈ, whose upper case has two letters. */
const WITH_IOTA = Array.from("ᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼ");

/**
 * Letters whose case folding isn't `letter.toUpperCase().toLowerCase()`, or is also the case
 * folding of other letters. Letters that look like another one are escaped, since editors replace
 * them.
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

/** The maximum number of replaced letters: each nests a level, of which D1 allows 100. */
const MAX_FOLDED_LENGTH = 50;

/** Folds the case of a text, in every script. */
export const fold = (text: string) =>
	Array.from(text, (letter) => FOLDED.get(letter) ?? letter.toLowerCase()).join("");

/** Returns the letters to replace in a text before `needle` can be found in it. */
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

/** Returns a text as SQL of code points, without escaping or a bound value. */
const literal = (text: string) =>
	sql.raw(`char(${Array.from(text, (letter) => letter.codePointAt(0)).join(", ")})`);

/** Returns the folded needle in each spelling: accents as part of letters (NFC) or not (NFD). */
const spellingsOf = (needle: string) => [
	...new Set([needle, needle.normalize("NFC"), needle.normalize("NFD")].map(fold)),
];

/** SQL condition: `test` is true for the folded text and `needle`, in one of its spellings. */
function anySpelling(
	text: SQL | Column,
	needle: string,
	test: (haystack: SQL, folded: string) => SQL,
): SQL {
	const isAscii = sql`octet_length(${text}) = length(${text})`;
	const conditions = spellingsOf(needle).map((folded) => {
		const haystack = replacements(folded).reduce(
			(inner, [letter, to]) => sql`replace(${inner}, ${literal(letter)}, ${literal(to)})`,
			sql`lower(${text})`,
		);
		return test(sql`iif(${isAscii}, lower(${text}), ${haystack})`, folded);
	});
	return sql`(${sql.join(conditions, sql` or `)})`;
}

/**
 * SQL condition: `text` contains `needle`, ignoring case in every script. SQLite's lower() handles
 * only ASCII, so in other texts the upper-case forms of the needle's other letters are replaced one
 * by one. (In a log of ASCII, 50 such letters would take 20 times as long.)
 */
export const contains = (text: SQL | Column, needle: string): SQL =>
	anySpelling(text, needle, (haystack, folded) => sql`instr(${haystack}, ${folded}) > 0`);

/** SQL condition: `text` begins with `needle`, ignoring case like `contains`. */
export const startsWith = (text: SQL | Column, needle: string): SQL =>
	anySpelling(text, needle, (haystack, folded) => sql`instr(${haystack}, ${folded}) = 1`);

/** SQL condition: `text` ends with `needle`, ignoring case like `contains`. */
export const endsWith = (text: SQL | Column, needle: string): SQL =>
	anySpelling(text, needle, (haystack, folded) => {
		const length = Array.from(folded).length;
		// `substr` with 0 would be the whole text.
		return length === 0
			? sql`${text} is not null`
			: sql`substr(${haystack}, ${sql.raw(`-${length}`)}) = ${folded}`;
	});

/** SQL condition: `text` is `other`, ignoring case like `contains`. */
export const equals = (text: SQL | Column, other: string): SQL =>
	anySpelling(text, other, (haystack, folded) => sql`${haystack} = ${folded}`);
