/**
 * Checks that memberships are written in one place
 * (docs/internals/architecture.md#who-belongs-to-an-organization).
 */
import { readFileSync } from "node:fs";
import { readImports } from "./imports.ts";

const DOOR = "src/people/memberships.ts";

/** Matches a statement that writes one of the tables, of Drizzle or in SQL, or a helper with one. */
const WRITE =
	/\.(?:insert|update|delete)\(\s*(?:members|projectMembers)\b|\b(?:insert\w+|removeRow|deleteOlderThan)\((?:[^;](?!=>))*?,\s*(?:members|projectMembers)\s*,|\b(?:into|update|delete\s+from)\s+(?:\$\{(?:members|projectMembers)\}|(?:project_)?members\b)/gi;

/** Finds files that write memberships past the door. */
export function findMembershipWrites(): string[] {
	const files = [...readImports().keys()].filter((path) => path.startsWith("src/"));
	const writing = files.filter((path) => readFileSync(path, "utf8").search(WRITE) >= 0);
	return [
		...writing
			.filter((path) => path !== DOOR)
			.map((path) => `${path}: writes memberships, which only ${DOOR} does.`),
		...(writing.includes(DOOR) ? [] : [`${DOOR}: doesn't write memberships any more.`]),
	];
}
