/** Searches of members in the full-text index `member_search`, which triggers keep. */
import { and, type SQL, sql } from "drizzle-orm";
import { contains, fold } from "../db/contains.ts";

/**
 * Letters that the index doesn't fold: FTS5 has the letters of Unicode 6.1, and these got a capital later. A query
 * leaves them out.
 */
const UNFOLDED =
	/[ƛɜɡɤɪʂʇʝʞϳԩ-ԯა-ჿᏸ-ᏽᲀ-ᲊᶎⱟꙙ-ꚛꞔꞗ-ꞟꞵ-ꟃꟈ-ꟊꟍ-ꟛꟶꭓꭰ-ꮿ\u{104d8}-\u{104fb}\u{10597}-\u{105bc}\u{10cc0}-\u{10cf2}\u{10d70}-\u{10d85}\u{118c0}-\u{118df}\u{16e60}-\u{16e7f}\u{16ebb}-\u{16ed3}\u{1e922}-\u{1e943}]+/u;

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
