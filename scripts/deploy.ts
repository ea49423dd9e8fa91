/**
 * `npm run deploy`: builds the documentation and the worker, applies migrations and deploys.
 * Options such as `--env staging` and `--dry-run` are passed to `wrangler deploy`.
 *
 * Migrations only add tables, columns and indexes, and drop indexes that the deployed code doesn't
 * need. So the deployed code also works with the next version's schema, and migrations are applied
 * before the new code is deployed. Only the first deployment, which creates the database, applies
 * them afterwards. Until then, the API returns 503.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { unstable_readConfig } from "wrangler";
import { buildAssets } from "../build/assets.ts";
import { bundle } from "../build/bundle.ts";
import { earlierBuild, fail, messageOf, run } from "../build/run.ts";
import { root } from "./state.ts";
import { expectOptionsAfterDashes, WRONG_USAGE } from "./usage.ts";

expectOptionsAfterDashes("npm run deploy", ["env", "dry-run"]);

const { values } = parseArgs({
	args: process.argv.slice(2),
	strict: false,
	options: { env: { type: "string", short: "e", default: "" }, help: { type: "boolean" } },
});
if (values.help) {
	console.log(`Usage: npm run deploy -- [--env NAME] [--dry-run]

Builds the worker, applies migrations and deploys. Other options are passed to wrangler deploy.
  --env NAME  Deploy this environment in wrangler.toml.
  --dry-run   Only build the worker.`);
	process.exit(0);
}
const environment = String(values.env);
const isEnv = (word = "") => /^(--env|-e)(=|$)/.test(word);
const rest = process.argv.slice(2).filter((word, i, words) => {
	const isName = isEnv(words[i - 1]) && !words[i - 1]?.includes("=");
	return !isName && !isEnv(word);
});

/** Reads wrangler.toml. Ends the script if it is invalid or doesn't have the environment. */
function readConfig() {
	try {
		return unstable_readConfig({
			config: `${root}/wrangler.toml`,
			...(environment && { env: environment }),
		});
	} catch (error) {
		return fail(messageOf(error), WRONG_USAGE);
	}
}

const database = readConfig().d1_databases[0]?.database_name;

/**
 * Runs wrangler in this terminal, where it can prompt the user. Ends the script if wrangler fails.
 */
function wrangler(words: string[], hint = "") {
	const all = [...words, `--env=${environment}`];
	const { status } = spawnSync("wrangler", all, { stdio: "inherit" });
	if (status !== 0) fail(`wrangler ${words.join(" ")} failed.${hint}`);
}

const migrate = () =>
	wrangler(
		["d1", "migrations", "apply", "DB", "--remote"],
		` If it says that a table already exists: ${earlierBuild("change database_name in wrangler.toml")}`,
	);
const deploy = () => wrangler(["deploy", script, "--no-bundle", ...rest]);

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
