import { availableParallelism } from "node:os";
import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { unstable_readConfig } from "wrangler";
import { buildAssets } from "./scripts/assets.ts";
import { azurites } from "./test/support/azurite.ts";
import { bigqueries } from "./test/support/bigquery.ts";
import { buckets } from "./test/support/bucket.ts";
import { clickhouse } from "./test/support/clickhouse.ts";
import { faults } from "./test/support/faults.ts";
import { googles } from "./test/support/gcs.ts";
import { HANG_MS, TEST_TIMEOUT_MS } from "./test/support/hang.ts";
import { outbound } from "./test/support/outbound.ts";
import { databases } from "./test/support/postgres.ts";
import { providers } from "./test/support/provider.ts";
import { quiet } from "./test/support/quiet.ts";
import { receivers } from "./test/support/receiver.ts";
import { registries } from "./test/support/registry.ts";
import { resolvers } from "./test/support/resolver.ts";
import { samlProviders } from "./test/support/saml.ts";
import { summary } from "./test/support/summary.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
// Tests start Node.js more than a hundred times: a sixth of a command's CPU time is for compiling.
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, "node_modules/.cache/compiled");

quiet();
buildAssets();

const limits = {
	testTimeout: TEST_TIMEOUT_MS,
	hookTimeout: TEST_TIMEOUT_MS,
	// A test in which no assertion ran fails, for example one that loops over nothing.
	expect: { requireAssertions: true, poll: { timeout: HANG_MS, interval: 200 } },
};

export default defineConfig({
	// Resolves packages like the bundler. Otherwise pg doesn't find its sockets for Workers.
	ssr: { resolve: { conditions: ["workerd"] } },
	test: {
		reporters: ["default", summary],
		// Many files wait for a server that they started, so one more than there are cores keeps these busy.
		maxWorkers: availableParallelism() + 1,
		projects: [
			{
				plugins: [
					cloudflareTest(async () => {
						const [plugins, dns, blobs, ...servers] = await Promise.all([
							registries(),
							resolvers(),
							azurites(),
							clickhouse(),
							databases(),
							receivers(),
							bigqueries(),
							providers(),
							samlProviders(),
						]);
						const bucket = await buckets();
						const google = await googles(bucket.S3_URL);
						const storage = { ...bucket, ...google, ...blobs };
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
									SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
									...dns,
									...plugins,
									...storage,
									...(await faults(storage)),
									...Object.assign({}, ...servers),
								},
								outboundService: {
									node: outbound(plugins.PUBLISHED_NPM_REGISTRY_URL),
								},
							},
						};
					}),
				],
				test: {
					name: "worker",
					include: ["test/**/*.test.ts", "packages/*/test/worker/*.test.ts"],
					exclude: ["test/scripts/**", "test/console/**", "test/full/**"],
					setupFiles: ["test/support/setup.ts"],
					...limits,
					isolate: false,
				},
			},
			{
				test: {
					name: "scripts",
					include: ["test/scripts/*.test.ts"],
					environment: "node",
					...limits,
				},
			},
			{
				test: {
					name: "console",
					include: ["test/console/*.test.ts"],
					globalSetup: "test/console/support/server.ts",
					environment: "node",
					...limits,
				},
			},
			{
				test: {
					name: "full",
					include: ["test/full/**/*.test.ts"],
					globalSetup: "test/console/support/server.ts",
					environment: "node",
					...limits,
				},
			},
			{
				test: {
					name: "packages",
					include: ["packages/*/test/*.test.ts"],
					globalSetup: "packages/client/test/support/server.ts",
					environment: "node",
					...limits,
				},
			},
		],
	},
});
