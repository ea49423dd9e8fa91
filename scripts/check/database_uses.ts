/**
 * Checks that no code that a guarded route reaches uses D1 without the guard
 * (docs/internals/architecture.md#how-a-patch-of-a-members-level-runs).
 */
import { readFileSync } from "node:fs";
import { readImports } from "./imports.ts";

const PUBLIC = "Public routes, which need no key, use it.";
const LATER = "It runs after the response or on a schedule.";

/** Files that guarded routes import and that use D1 directly, with the reason. */
const ALLOWED: Record<string, string> = {
	"src/access/idempotency.ts": "Keeps responses after the guard, and deletes old ones.",
	"src/access/access_events.ts": LATER,
	"src/access/tenant.ts": "Sends the guard with the queries.",
	"src/organizations/domains/recheck.ts": LATER,
	"src/people/invites/invitation.ts": PUBLIC,
	"src/oauth/device/device.ts": PUBLIC,
	"src/oauth/exchange/code.ts": PUBLIC,
	"src/sign_in/erasure/clear.ts": LATER,
	"src/sign_in/provider/find.ts": PUBLIC,
	"src/sign_in/provider/state.ts": PUBLIC,
	"src/people/users/mails.ts": LATER,
	"src/keys/keys.ts": "Finds the key of the request.",
	"src/keys/signing_keys.ts":
		"Makes a key after the guard, if there is none. The rest is public or scheduled.",
	"src/keys/workload_tokens.ts":
		"Reads the key for tokens of runs, and of tests after their write.",
	"src/keys/usage.ts": LATER,
	"src/db/cached_statements.ts": "Prepares statements for a batch.",
	"src/db/bookmark.ts": "Opens the database for the guard.",
	"src/db/client.ts": "Counts the statements of a scheduled run.",
	"src/exports/engine/start_runs.ts": LATER,
	"src/exports/ingestion/queries.ts": LATER,
};

/** Matches a use of the binding, or of the function that opens it for a request. */
const USE =
	/\benv\.DB\b|\{ DB\b|\bdrizzle\(|import \{[^}]*\bconnect\b[^}]*\} from "[./]*db\/bookmark\.ts"/;

/** Returns the files that the routes of families import, directly or not. */
function reachable(imports: Map<string, string[]>) {
	const reached = new Set<string>();
	const visit = (path: string) => {
		if (reached.has(path) || !imports.has(path)) return;
		reached.add(path);
		for (const imported of imports.get(path) ?? []) visit(imported);
	};
	const [families = ""] = readFileSync("src/app.ts", "utf8").split("export const publicRoutes");
	for (const [, path] of families.matchAll(/import\("\.(\/[^"]+)"\)/g)) visit(`src${path}`);
	return reached;
}

/** Finds direct uses of D1 that have no reason, and reasons without a use. */
export function findDatabaseUses(): string[] {
	const uses = [...reachable(readImports())].filter((path) => USE.test(readFileSync(path, "utf8")));
	return [
		...uses
			.filter((path) => !(path in ALLOWED))
			.map((path) => `${path}: a guarded route reaches it, so it reads with \`tenant.read\`.`),
		...Object.keys(ALLOWED)
			.filter((path) => !uses.includes(path))
			.map((path) => `${path}: doesn't use D1, so it needs no reason in ALLOWED.`),
	];
}
