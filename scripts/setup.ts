/**
 * `npm run setup`: creates the missing tables, settings and first key that `wrangler dev` needs.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { buildAssets } from "../build/assets.ts";
import { earlierBuild, fail } from "../build/run.ts";
import { mask } from "../src/keys/keys.ts";
import { pluralize } from "../src/lib/text.ts";
import { run } from "../src/operator/run.ts";
import { openFiles } from "./operator.ts";
import { EMAIL, lockOrFail, root, state, variablesFile, writeSettings } from "./state.ts";
import { expectNoArguments } from "./usage.ts";

/** Wrangler's table of applied migrations, so that `wrangler d1 migrations` continues from here. */
const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;

/** Applies missing migrations, each in one transaction. Returns how many were applied. */
async function migrate({ DB }: Env) {
	await DB.prepare(CREATE_TABLE).run();
	const { results } = await DB.prepare("SELECT name FROM d1_migrations").all();
	const applied = new Set(results.map(({ name }) => name));
	if (applied.has("0000_tenants.sql"))
		return fail(earlierBuild(`set STATE_DIR to another folder, or delete ${state}`));
	const missing = readdirSync(`${root}/migrations`)
		.filter((name) => name.endsWith(".sql") && !applied.has(name))
		.sort();
	for (const name of missing)
		await DB.batch([
			...readFileSync(`${root}/migrations/${name}`, "utf8")
				.split("--> statement-breakpoint")
				.map((statement) => DB.prepare(statement)),
			DB.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name),
		]);
	return missing.length;
}

async function command(env: Env, name: string, options: object) {
	const outcome = await run(env, name, options);
	if ("error" in outcome) return fail(outcome.error);
	return outcome.result;
}

const User = z.object({ key: z.string().nullable(), keys: z.array(z.string()) });
const NewKey = z.object({ key: z.string() });

/**
 * Returns the key in the state's folder if it still works, otherwise a new one, which it stores
 * there.
 */
async function exampleKey(env: Env): Promise<string> {
	const file = `${state}/example-key`;
	const user = User.parse(await command(env, "bootstrap", { email: EMAIL }));
	const kept = existsSync(file) ? readFileSync(file, "utf8") : "";
	if (kept && user.keys.some((key) => key.endsWith(mask(kept)))) return kept;
	const options = { email: EMAIL, label: "npm start", scopes: ["*"] };
	const key = user.key ?? NewKey.parse(await command(env, "key create", options)).key;
	writeFileSync(file, key, { mode: 0o600 });
	return key;
}

/**
 * Prepares the state and builds the files of `build/assets.ts`. This process must have locked the
 * state.
 * @param use what else to do with the tables
 */
async function prepare<T>(use: (env: Env) => Promise<T>) {
	mkdirSync(state, { recursive: true });
	const added = writeSettings();
	if (added.length > 0) console.log(`Wrote ${added.join(", ")} to ${variablesFile}.`);
	buildAssets();
	const { env, dispose } = await openFiles();
	try {
		const applied = await migrate(env);
		if (applied > 0) console.log(`Applied ${pluralize(applied, "migration")}.`);
		return await use(env);
	} finally {
		await dispose();
	}
}

/** Prepares the state. Returns a key with all scopes. */
export const setup = () => prepare(exampleKey);

if (import.meta.main) {
	const isEmpty = process.argv.slice(2).join() === "--empty";
	if (!isEmpty)
		expectNoArguments(`Usage: npm run setup [-- --empty]

Creates the tables, a first key and the settings for npx wrangler dev. With --empty, no key: an
organization can be imported whose projects have the ids of the first ones. Environment variable:
  STATE_DIR  the folder of the data; .wrangler/state by default`);
	await lockOrFail("npm run setup");
	if (isEmpty) await prepare(async () => {});
	else {
		const key = await setup();
		console.log(`
Setup is complete. Start a server with npx wrangler dev, or with npm start, which also runs the schedule. Then try:

  export URL=http://localhost:8787
  export KEY=${key}
  curl -H "Authorization: Bearer $KEY" "$URL/api/organizations/@current/?pretty"
`);
	}
}
