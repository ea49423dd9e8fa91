import { existsSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { unstable_readConfig } from "wrangler";
import { buildAssets } from "./build/assets.ts";
import { azurites } from "./test/support/azurite.ts";
import { bigqueries } from "./test/support/bigquery.ts";
import { buckets } from "./test/support/bucket.ts";
import { clickhouse } from "./test/support/clickhouse.ts";
import { faults } from "./test/support/faults.ts";
import { googles } from "./test/support/gcs.ts";
import { HANG_MS, TEST_TIMEOUT_MS } from "./test/support/hang.ts";
import { icebergs } from "./test/support/iceberg.ts";
import { motos } from "./test/support/moto.ts";
import { outbound } from "./test/support/outbound.ts";
import { databases } from "./test/support/postgres.ts";
import { providers } from "./test/support/provider.ts";
import { quiet } from "./test/support/quiet.ts";
import { receivers } from "./test/support/receiver.ts";
import { registries } from "./test/support/registry.ts";
import { resolvers } from "./test/support/resolver.ts";
import { samlProviders } from "./test/support/saml.ts";
import { siems } from "./test/support/siems.ts";
import { summary } from "./test/support/summary.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
// Tests start Node.js more than a hundred times: a sixth of a command's CPU time is for compiling.
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, "node_modules/.cache/compiled");

quiet();
buildAssets();

/** Where Linux keeps files in memory, and the bytes that must be free there: containers have few. */
const MEMORY = "/dev/shm";
const MIN_FREE = 2 ** 31;

/** Whether the memory can hold what the tests write. */
function fitsInMemory() {
	if (!existsSync(MEMORY)) return false;
	const { bavail, bsize } = statfsSync(MEMORY);
	return bavail * bsize >= MIN_FREE;
}

// Each commit to D1 waits for the disk: in memory, the tests in workerd take a tenth less CPU time.
const disk = tmpdir();
if (fitsInMemory()) process.env.TMPDIR = MEMORY;

const limits = {
	testTimeout: TEST_TIMEOUT_MS,
	hookTimeout: TEST_TIMEOUT_MS,
	// Paths of routes in names of tests stay whole.
	taskTitleValueFormatTruncate: 0,
	// A test in which no assertion ran fails, for example one that loops over nothing.
	expect: { requireAssertions: true, poll: { timeout: HANG_MS, interval: 200 } },
};

/** The servers that the tests in workerd use, each started on its first connection. */
async function startServers() {
	const [plugins, dns, blobs, ...servers] = await Promise.all([
		registries(),
		resolvers(),
		azurites(),
		clickhouse(),
		databases(),
		receivers(),
		siems(),
		motos(),
		bigqueries(),
		providers(),
		samlProviders(),
	]);
	const bucket = await buckets();
	const google = await googles(bucket.S3_URL);
	const storage = { ...bucket, ...google, ...blobs };
	const bindings = {
		...dns,
		...plugins,
		...storage,
		...(await icebergs(bucket.S3_URL)),
		...(await faults(storage)),
		...Object.assign({}, ...servers),
	};
	return { bindings, registry: plugins.PUBLISHED_NPM_REGISTRY_URL };
}

let started: ReturnType<typeof startServers> | undefined;

/** Starts the servers once for all projects. */
const servers = () => {
	started ??= startServers();
	return started;
};

/** Tests in workerd, with a real D1, KV, R2, queue and workflow. */
const inWorkerd = (name: string, include: string[], exclude: string[]) => ({
	// Every worker reads the OpenAPI document, which is three times as large as a module with exports.
	json: { stringify: true, namedExports: false },
	plugins: [
		cloudflareTest(async () => {
			const { bindings, registry } = await servers();
			return {
				wrangler: { configPath: "./wrangler.toml" },
				miniflare: {
					bindings: {
						// The variables of wrangler.toml, not of .dev.vars, which npm run setup writes.
						...unstable_readConfig({ config: "./wrangler.toml" }).vars,
						MIGRATIONS: await readD1Migrations(path.join(import.meta.dirname, "migrations")),
						MAIL_FROM: "tenantry@example.com",
						// Not the host to which tests send their requests.
						APP_URL: "https://app.tenantry.test",
						ALLOW_PRIVATE_DESTINATIONS: "true",
						USAGE_FLUSH_SECONDS: "0",
						// Tests of other things don't expect these entries.
						ACCESS_EVENTS_PER_DAY: "0",
						ICEBERG_WINDOWS: process.env.ICEBERG_WINDOWS ?? "20",
						SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
						...bindings,
					},
					outboundService: { node: outbound(registry) },
				},
			};
		}),
	],
	test: {
		name,
		include,
		exclude,
		setupFiles: ["test/support/setup.ts"],
		...limits,
		isolate: false,
	},
});

/** Tests in Node.js, most of which use a server that `globalSetup` starts. */
const inNode = (name: string, include: string[], more: object = {}) => ({
	test: {
		name,
		include,
		exclude: name === "unit" ? [] : [UNIT],
		environment: "node" as const,
		env: { TMPDIR: disk },
		...limits,
		...more,
	},
});

const UNIT = "**/*.unit.test.ts";
const FULL = "**/*.full.test.ts";
const TOOLS = ["test/scripts/**/*.test.ts", "test/build/**/*.test.ts"];
const IN_NODE = ["test/journeys/**", "test/console/**", ...TOOLS];

const CONSOLE = { globalSetup: "test/console/support/server.ts", isolate: false };
const CLIENT = { globalSetup: "packages/client/test/support/server.ts" };

// docs/internals/testing.md says which tests belong where.
export default defineConfig({
	// Resolves packages like the bundler. Otherwise pg doesn't find its sockets for Workers.
	ssr: { resolve: { conditions: ["workerd"] } },
	test: {
		reporters: ["default", summary],
		// Many files wait for a server that they started, so one more than there are cores keeps these busy.
		maxWorkers: availableParallelism() + 1,
		projects: [
			inNode("unit", ["test/**/*.unit.test.ts", "packages/*/test/**/*.unit.test.ts"], {
				isolate: false,
				// Base64 and hex of Uint8Array, which workerd has.
				execArgv: ["--js-base-64"],
				// Node.js loads Sucrase as CommonJS, so compile.ts must change the parser of that.
				alias: { "sucrase/dist/esm/": "sucrase/dist/" },
			}),
			inWorkerd("worker", ["test/**/*.test.ts"], [UNIT, FULL, ...IN_NODE]),
			inNode("journeys", ["test/journeys/**/*.test.ts"], CONSOLE),
			inWorkerd("full-worker", ["test/**/*.full.test.ts", "judges/**/*.full.test.ts"], IN_NODE),
			inNode("full-console", ["test/console/**/*.test.ts"], CONSOLE),
			inNode("full-scripts", TOOLS),
			inNode("full-judges", ["judges/**/*.test.ts"], { exclude: [FULL, "**/node_modules/**"] }),
			inNode("full-packages", ["packages/*/test/**/*.test.ts"], CLIENT),
		],
	},
});
