/**
 * `npm run deploy`: builds the documentation and the worker, applies migrations and deploys.
 * Options such as `--env staging` and `--dry-run` are passed to `wrangler deploy`.
 *
 * Migrations only add tables, columns and indexes, and drop indexes that the deployed code doesn't
 * need. So the deployed code also works with the next version's schema, and migrations are applied
 * before the new code is deployed. Only the first deployment, which creates the database, applies
 * them afterwards. Until then, the API returns 503.
 *
 * With `--jurisdiction`, the first deployment creates everything there that can have one
 * (docs/operating/README.md#where-data-lives). Later deployments ask for the database's: without it,
 * Wrangler would create a second, empty bucket elsewhere.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { experimental_readRawConfig, unstable_readConfig } from "wrangler";
import { buildAssets } from "../build/assets.ts";
import { bundle } from "../build/bundle.ts";
import { earlierBuild, fail, messageOf, run } from "../build/run.ts";
import { root } from "./state.ts";
import { expectOptionsAfterDashes, WRONG_USAGE } from "./usage.ts";

expectOptionsAfterDashes("npm run deploy", ["env", "dry-run", "jurisdiction"]);

/** What D1, R2 and Workflows all have. */
const JURISDICTIONS = ["eu", "us", "fedramp"];

const { values } = parseArgs({
	args: process.argv.slice(2),
	strict: false,
	options: {
		env: { type: "string", short: "e", default: "" },
		jurisdiction: { type: "string", default: "" },
		help: { type: "boolean" },
	},
});
if (values.help) {
	console.log(`Usage: npm run deploy -- [--env NAME] [--jurisdiction NAME] [--dry-run]

Builds the worker, applies migrations and deploys. Other options are passed to wrangler deploy.
  --env NAME           Deploy this environment in wrangler.toml.
  --jurisdiction NAME  In the first deployment: create the database, the bucket and the Workflow in
                       this jurisdiction (${JURISDICTIONS.join(", ")}). It can't be changed later.
  --dry-run            Only build the worker.`);
	process.exit(0);
}
const environment = String(values.env);
const asked = String(values.jurisdiction);
const isOurs = (word = "") => /^(--env|-e|--jurisdiction)(=|$)/.test(word);
const rest = process.argv.slice(2).filter((word, i, words) => {
	const isName = isOurs(words[i - 1]) && !words[i - 1]?.includes("=");
	return !isName && !isOurs(word);
});
if (values.jurisdiction === true || (asked && !JURISDICTIONS.includes(asked)))
	fail(`--jurisdiction must be one of: ${JURISDICTIONS.join(", ")}.`, WRONG_USAGE);

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

const config = readConfig();
const database = config.d1_databases[0]?.database_name ?? "";

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

/**
 * Writes wrangler.toml with a jurisdiction for the bucket and the Workflow. Returns the options that
 * make wrangler read it; none without a jurisdiction.
 */
function placed(jurisdiction: string) {
	if (!jurisdiction) return [];
	const { rawConfig } = experimental_readRawConfig({ config: `${root}/wrangler.toml` });
	const place = (bindings: object[]) => bindings.map((binding) => ({ ...binding, jurisdiction }));
	const bindings = {
		r2_buckets: place(config.r2_buckets),
		workflows: place(config.workflows),
	};
	const path = `${root}/dist/wrangler.json`;
	const assets = { ...rawConfig.assets, directory: `${root}/${rawConfig.assets?.directory}` };
	const all = environment
		? { env: { [environment]: { ...rawConfig.env?.[environment], ...bindings } } }
		: bindings;
	writeFileSync(path, JSON.stringify({ ...rawConfig, assets, ...all }));
	return [`--config=${path}`];
}

const deploy = (jurisdiction: string) =>
	wrangler(["deploy", script, "--no-bundle", ...placed(jurisdiction), ...rest]);

type Deployed = { name: string; jurisdiction?: string | null };

/** Returns the jurisdiction of the database, or "" if it has none; undefined without a database. */
function deployedIn() {
	const databases: Deployed[] = JSON.parse(run("wrangler", "d1", "list", "--json"));
	const found = databases.find(({ name }) => name === database);
	return found && (found.jurisdiction ?? "");
}

/** Deploys to a database, which has been created. */
function update(jurisdiction: string) {
	if (asked && asked !== jurisdiction)
		fail(
			`The database ${database} is ${jurisdiction ? `in the jurisdiction ${jurisdiction}` : "in no jurisdiction"}, which can't be changed. For a deployment in ${asked}, add an environment with names of its own to wrangler.toml.`,
			WRONG_USAGE,
		);
	migrate();
	deploy(jurisdiction);
}

buildAssets();
const { script } = bundle(`${root}/dist`, { env: environment });
const isDryRun = rest.includes("--dry-run");
const existing = isDryRun ? undefined : deployedIn();
if (isDryRun) deploy(asked);
else if (existing !== undefined) update(existing);
else if (asked) {
	wrangler(["d1", "create", database, `--jurisdiction=${asked}`, "--update-config=false"]);
	update(asked);
} else {
	deploy("");
	migrate();
}
