/** Searches in full-text indexes of trigrams, which triggers maintain (migrations `search` and `search_lists`). */
import { and, type SQL, sql } from "drizzle-orm";
import { contains, spellingsOf } from "./contains.ts";

/**
 * Letters that the index doesn't fold: FTS5 implements Unicode 6.1, and these letters got an upper-case form later. They are left
 * out of queries.
 */
const UNFOLDED =
	/[\u019b\u025c\u0261\u0264\u026a\u0282\u0287\u029d\u029e\u03f3\u0529-\u052f\u10d0-\u10ff\u13f8-\u13fd\u1c80-\u1c8a\u1d8e\u2c5f\ua659-\ua69b\ua794\ua797-\ua79f\ua7b5-\ua7c3\ua7c8-\ua7ca\ua7cd-\ua7db\ua7f6\uab53\uab70-\uabbf\u{104d8}-\u{104fb}\u{10597}-\u{105bc}\u{10cc0}-\u{10cf2}\u{10d70}-\u{10d85}\u{118c0}-\u{118df}\u{16e60}-\u{16e7f}\u{16ebb}-\u{16ed3}\u{1e922}-\u{1e943}]+/u;

/** The maximum number of trigrams in a query of the index. */
const MAX_TRIGRAMS = 30;

/** The character around each letter in the column `letters`, so that one or two letters form a trigram. */
const AROUND = "\u0001";

/** Returns the trigrams of a text. If it has only one or two letters, they are surrounded by `AROUND`. */
function trigramsOf(part: string) {
	const letters = Array.from(part);
	const text =
		letters.length > 2 ? letters : [AROUND, ...letters.flatMap((each) => [each, AROUND])];
	return text.slice(2).map((_, at) => text.slice(at, at + 3).join(""));
}

/**
 * SQL for the character that represents two hexadecimal digits of an owner's id in the index. A trigram represents its last six.
 */
const pair = (at: number) =>
	sql`coalesce(983040 + unicode(substr(owner.id, ${sql.raw(String(at))}, 1)) * 256 + unicode(substr(owner.id, ${sql.raw(String(at + 1))}, 1)), 983040)`;

/** SQL for the trigram that represents a UUID. */
export const trigramOf = (id: SQL | string) =>
	sql`(select char(${pair(-6)}, ${pair(-4)}, ${pair(-2)}) from (select ${
		typeof id === "string" ? (/[0-9a-f]{6}$/.exec(id)?.[0] ?? "000000") : id
	} as id) as owner)`;

/** The trigram for no id, which global plugins have in the full-text index. */
export const NO_ID = "\u{f0000}\u{f0000}\u{f0000}";

/** Returns the trigram that represents an integer id. */
export const trigramOfNumber = (id: number) =>
	String.fromCodePoint(
		...[2 ** 32, 2 ** 16, 1].map((unit) => 0xf0000 + (Math.floor(id / unit) % 2 ** 16)),
	);

/**
 * SQL condition: a document of the index may contain `needle`, ignoring case. Use it together with `contains`.
 * @param index the name of the index
 * @param owner the trigram of the owner whose documents are searched; separate several with `" OR "`
 * @param hasLetters whether the index has the column `letters`. Without it, parts of one or two letters don't narrow the search
 */
export function mayContain(
	index: string,
	owner: SQL | string,
	needle: string,
	{ hasLetters = true } = {},
) {
	const spellings = spellingsOf(needle).map((spelling) => {
		const trigrams = spelling
			.split(UNFOLDED)
			.filter((part) => Array.from(part).length > (hasLetters ? 0 : 2))
			.flatMap(trigramsOf)
			.slice(0, MAX_TRIGRAMS);
		return Array.from(new Set(trigrams), (trigram) => `"${trigram.replaceAll('"', '""')}"`);
	});
	// A spelling without trigrams could be in any document.
	const phrases = spellings.every(({ length }) => length > 0)
		? ` AND (${spellings.map((each) => `(${each.join(" AND ")})`).join(" OR ")})`
		: "";
	return sql`${sql.identifier(index)} match '("' || ${owner} || ${`")${phrases}`}`;
}

/**
 * Returns the arguments of `matching` for a search in an organization's list: the `name` in the documents of `index` contains
 * `needle`.
 */
export const searched = (organization: SQL | string, index: string, needle: string) => ({
	found: sql`${sql.identifier(index)}.id`,
	from: sql`${sql.identifier(index)}`,
	where: and(
		mayContain(index, trigramOf(organization), needle),
		sql`${sql.identifier(index)}.organization_id = ${organization}`,
		contains(sql`${sql.identifier(index)}.name`, needle),
	),
});
