/**
 * `npm run deploy`: builds the documentation and the worker, applies migrations and deploys. Options such as `--env staging` and
 * `--dry-run` are passed to `wrangler deploy`.
 *
 * Migrations only add tables, columns and indexes, and drop indexes that the deployed code doesn't need. So the deployed code
 * also works with the next version's schema, and migrations are applied before the new code is deployed. Only the first
 * deployment, which creates the database, applies them afterwards. Until then, the API returns 503.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { unstable_readConfig } from "wrangler";
import { buildAssets } from "./assets.ts";
import { bundle } from "./bundle.ts";
import { fail, run } from "./run.ts";
import { root } from "./state.ts";

const { values } = parseArgs({
	args: process.argv.slice(2),
	strict: false,
	options: { env: { type: "string", default: "" } },
});
const environment = String(values.env);
const rest = process.argv.slice(2).filter((word, i, words) => {
	const isName = words[i - 1] === "--env";
	return !isName && !word.startsWith("--env");
});

const config = unstable_readConfig({
	config: `${root}/wrangler.toml`,
	...(environment && { env: environment }),
});
const database = config.d1_databases[0]?.database_name;

/** Runs wrangler in this terminal, where it can prompt the user. Ends the script if wrangler fails. */
function wrangler(...words: string[]) {
	const all = [...words, `--env=${environment}`];
	const { status } = spawnSync("wrangler", all, { stdio: "inherit" });
	if (status !== 0) fail(`wrangler ${words.join(" ")} failed.`);
}

const migrate = () => wrangler("d1", "migrations", "apply", "DB", "--remote");
const deploy = () => wrangler("deploy", script, "--no-bundle", ...rest);

function isDeployed() {
	const databases: { name: string }[] = JSON.parse(run("wrangler", "d1", "list", "--json"));
	return databases.some(({ name }) => name === database);
}

buildAssets();
const { script } = bundle(`${root}/dist`, { env: environment });
if (rest.includes("--dry-run")) deploy();
else if (isDeployed()) {
	migrate();
	deploy();
} else {
	deploy();
	migrate();
}
