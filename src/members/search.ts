/** Searches of members in the full-text index `member_search`, which triggers keep. */
import { and, type SQL, sql } from "drizzle-orm";
import { contains, fold } from "../db/contains.ts";

/**
 * Letters that the index doesn't fold: FTS5 has the letters of Unicode 6.1, and these got a capital later. A query
 * leaves them out.
 */
const UNFOLDED =
	/[\u019b\u025c\u0261\u0264\u026a\u0282\u0287\u029d\u029e\u03f3\u0529-\u052f\u10d0-\u10ff\u13f8-\u13fd\u1c80-\u1c8a\u1d8e\u2c5f\ua659-\ua69b\ua794\ua797-\ua79f\ua7b5-\ua7c3\ua7c8-\ua7ca\ua7cd-\ua7db\ua7f6\uab53\uab70-\uabbf\u{104d8}-\u{104fb}\u{10597}-\u{105bc}\u{10cc0}-\u{10cf2}\u{10d70}-\u{10d85}\u{118c0}-\u{118df}\u{16e60}-\u{16e7f}\u{16ebb}-\u{16ed3}\u{1e922}-\u{1e943}]+/u;

/** How many parts of a search the index is asked for. */
const MAX_PARTS = 10;

/** What surrounds each letter in the column `letters`, so that one or two letters make a trigram. */
const AROUND = "\u0001";

/** A part of a search as a phrase of an FTS5 query: the index has no trigrams of shorter texts. */
function phrase(part: string) {
	const letters = Array.from(part, (letter) => (letter === '"' ? '""' : letter));
	return letters.length > 2
		? `text:"${letters.join("")}"`
		: `letters:"${AROUND}${letters.join(AROUND)}${AROUND}"`;
}

/** SQL for the character that stands for two others in the index: they are the 6 last ones of an id. */
const pair = (at: number) =>
	sql`983040 + unicode(substr(tenant.id, ${sql.raw(String(at))}, 1)) * 256 + unicode(substr(tenant.id, ${sql.raw(String(at + 1))}, 1))`;

/**
 * SQL for the documents of the index that contain `needle`, ignoring case. The index finds them; `contains` decides.
 * @param organization SQL for the id of the organization whose members are searched
 */
export function matches(organization: SQL<string>, needle: string) {
	const parts = fold(needle)
		.split(UNFOLDED)
		.filter((part) => part !== "")
		.slice(0, MAX_PARTS)
		.map(phrase);
	const query = sql`(
		select ${'organization:"'} || char(${pair(-6)}, ${pair(-4)}, ${pair(-2)}) || ${['"', ...parts].join(" AND ")}
		from (select ${organization} as id) as tenant)`;
	return and(
		sql`member_search match ${query}`,
		sql`member_search.organization_id = ${organization}`,
		contains(sql`member_search.name`, needle),
	);
}
