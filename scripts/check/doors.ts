/**
 * Checks that the rows of some tables are written in one place
 * (docs/internals/architecture.md#who-belongs-to-an-organization, src/keys/README.md).
 */
import { readFileSync } from "node:fs";
import { readImports } from "./imports.ts";

/** The file or folder that writes the tables, by their names in TypeScript and in SQL. */
const DOORS = [
	{
		door: "src/people/memberships.ts",
		tables: "members|projectMembers",
		sql: "(?:project_)?members",
	},
	{ door: "src/keys/", tables: "personalApiKeys", sql: "personal_api_keys" },
	{ door: "src/keys/signing_keys.ts", tables: "signingKeys", sql: "signing_keys" },
];

/** Matches a statement that writes one of the tables, of Drizzle or in SQL, or a helper with one. */
const writeOf = (tables: string, sql: string) =>
	new RegExp(
		[
			String.raw`\.(?:insert|update|delete)\(\s*(?:${tables})\b`,
			String.raw`\b(?:insert\w+|removeRow|deleteOlderThan)\((?:[^;](?!=>))*?,\s*(?:${tables})\s*,`,
			String.raw`\b(?:into|update|delete\s+from)\s+(?:\$\{(?:${tables})\}|${sql}\b)`,
		].join("|"),
		"i",
	);

/** Finds files that write a table past its door, and doors that write none. */
export function findWritesPastDoors(): string[] {
	const files = [...readImports().keys()]
		.filter((path) => path.startsWith("src/"))
		.map((path) => ({ path, code: readFileSync(path, "utf8") }));
	return DOORS.flatMap(({ door, tables, sql }) => {
		const writing = files.filter(({ code }) => writeOf(tables, sql).test(code));
		return [
			...writing
				.filter(({ path }) => !path.startsWith(door))
				.map(({ path }) => `${path}: writes ${tables}, which only ${door} does.`),
			...(writing.some(({ path }) => path.startsWith(door))
				? []
				: [`${door}: doesn't write ${tables} any more.`]),
		];
	});
}
