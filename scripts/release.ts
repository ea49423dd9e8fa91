/**
 * `npm run release -- 0.2.0`: checks and tests the project, sets the version, moves the entries of
 * CHANGELOG.md under it, packs the client and the command line, commits, and tags the commit. It
 * doesn't push. `--dry-run` only packs the packages.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { breakingChanges } from "../build/breaking.ts";
import { write } from "../build/files.ts";
import { environment, fail, run } from "../build/run.ts";
import about from "../package.json" with { type: "json" };
import { expectOptionsAfterDashes, WRONG_USAGE } from "./usage.ts";

const root = `${import.meta.dirname}/..`;
const CONTRACT = "docs/contract.txt";

/** The packages that a release contains, by workspace. */
const PACKAGES = ["tenantry-client", "tenantry-cli"];

/** Files that name the version. */
const VERSIONED = [
	"package.json",
	"packages/client/package.json",
	"packages/cli/package.json",
	"packages/console/package.json",
];

/** Pages that name the packed files. */
const PAGES = ["packages/client/README.md", "docs/cli.md"];

const numbersOf = (version: string) => /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1).map(Number);

/** Whether a version, such as `0.2.0`, comes after another. */
export function isNewer(version: string, before: string) {
	const [numbers, others] = [numbersOf(version), numbersOf(before)];
	if (!numbers || !others) return false;
	const i = numbers.findIndex((number, at) => number !== others[at]);
	return (numbers[i] ?? 0) > (others[i] ?? 0);
}

/**
 * Returns the changelog with its unreleased entries under a version; undefined if there are none.
 */
export function released(changelog: string, version: string, date: string) {
	const [, entries = ""] = /^## Unreleased\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(changelog) ?? [];
	if (!entries.includes("\n- ")) return undefined;
	return changelog.replace("## Unreleased\n", `## Unreleased\n\n## ${version} - ${date}\n`);
}

/** Returns the changes that break clients of the last release, unless the API has a new version. */
export function unannounced(before: string, now: string) {
	const versionOf = (contract: string) => contract.split("\n")[0];
	return versionOf(before) === versionOf(now) ? breakingChanges(before, now) : [];
}

const read = (path: string) => readFileSync(`${root}/${path}`, "utf8");

/** Packs the packages into a folder. Returns the paths of the files. */
export function pack(folder: string) {
	mkdirSync(folder, { recursive: true });
	const packed: { filename: string }[] = JSON.parse(
		run(
			"npm",
			...["pack", "--json", "--silent", "--pack-destination", folder],
			...PACKAGES.map((name) => `--workspace=${name}`),
		),
	);
	return packed.map(({ filename }) => `${folder}/${filename}`);
}

/** Ends the script if something prevents the release. Returns the new changelog. */
function prepare(version: string) {
	if (!isNewer(version, about.version))
		fail(`The version must be newer than ${about.version}, such as 0.2.0.`, WRONG_USAGE);
	const changelog = released(read("CHANGELOG.md"), version, new Date().toISOString().slice(0, 10));
	if (changelog === undefined) fail("CHANGELOG.md has no unreleased changes.");
	if (run("git", "status", "--porcelain") !== "") fail("Commit or remove the changes first.");
	const tag = run("git", "tag", "--list", "v*", "--sort=-v:refname").split("\n")[0];
	const broken = tag ? unannounced(run("git", "show", `${tag}:${CONTRACT}`), read(CONTRACT)) : [];
	if (broken.length > 0)
		fail(
			`These changes since ${tag} break clients, and need a new version of the API (docs/api.md#versions):\n${broken.join("\n")}`,
		);
	return changelog;
}

function setVersion(version: string) {
	for (const path of VERSIONED)
		write(path, read(path).replace(`"version": "${about.version}"`, `"version": "${version}"`));
	for (const path of PAGES)
		write(path, read(path).replaceAll(`-${about.version}.tgz`, `-${version}.tgz`));
	run("npm", "install", "--package-lock-only", "--no-audit", "--no-fund");
}

function main() {
	expectOptionsAfterDashes("npm run release", ["dry-run"]);
	const { values, positionals } = parseArgs({
		allowPositionals: true,
		options: { "dry-run": { type: "boolean" } },
	});
	const [version = ""] = positionals;
	process.chdir(root);
	const changelog = prepare(version);
	if (values["dry-run"]) {
		console.log(`Would release ${version}. Packed:\n${pack("dist/release").join("\n")}`);
		return;
	}
	for (const tests of ["test", "test:all"])
		execFileSync("npm", ["run", tests], { env: environment, stdio: "inherit" });
	setVersion(version);
	write("CHANGELOG.md", changelog);
	const files = pack("dist/release");
	run("git", "commit", "--all", "--message", `Release ${version}`);
	run("git", "tag", "--annotate", `v${version}`, "--message", version);
	console.log(
		`Released ${version}. Packed:\n${files.join("\n")}\nPublish it with git push --follow-tags.`,
	);
}

if (import.meta.main) main();
