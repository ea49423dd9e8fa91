import { expect, test } from "vitest";
import { parseAst } from "vitest/node";
import { changed, changesOf } from "./changes.ts";

/** A file with something of each kind to change. */
const CODE = `import { and, sql } from "drizzle-orm";
type Age = 1 | 2;
export async function find(tenant: Tenant, id: string, max: Age) {
	if (max >= 1 && !id) throw notFound();
	const [row] = await tenant.read(db.select().from(notes).where(and(own(tenant), sql\`id is not null and age < 3\`)), counted);
	await tenant.write({ change, entry });
	return row ?? null;
}
`;

test("each kind of careless change is found, once, and leaves a file that can be parsed", () => {
	const changes = changesOf(CODE);
	const results = changes.map((change) => changed(CODE, change));
	for (const result of results) parseAst(result, { lang: "ts" });
	expect(new Set(results).size).toBe(results.length);
	expect(results).not.toContain(CODE);
	const wrote = changes.map((change) => [change.what, change.text]);
	expect(wrote).toEqual([
		["negated condition", "!(max >= 1 && !id)"],
		[">= → >", ">"],
		["other constant", "2"],
		["&& → ||", "||"],
		["dropped statement", ";"],
		["dropped await", ""],
		["a dropped part of read", ""],
		["no where", ""],
		["a dropped part of and", ""],
		["a dropped part of and", ""],
		["is not null → is null in SQL", "is null"],
		["and → or in SQL", "or"],
		["< → <= in SQL", "<="],
		["a dropped part of read", ""],
		["dropped await", ""],
		["dropped statement", ";"],
		["a dropped part of write", ""],
		["a dropped part of write", ""],
		["no default", "row"],
	]);
});

test("types and imports aren't changed", () => {
	expect(changesOf('import a from "a";\ntype B = 1 | true;\nexport const c: B[] = [];\n')).toEqual(
		[],
	);
});
