import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { Response } from "miniflare";
import { defineConfig } from "vitest/config";
import { buckets } from "./test/support/bucket.ts";
import { clickhouse } from "./test/support/clickhouse.ts";
import { closing } from "./test/support/closing.ts";
import { databases } from "./test/support/postgres.ts";
import { receivers } from "./test/support/receiver.ts";
import { registries } from "./test/support/registry.ts";
import { resolvers } from "./test/support/resolver.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";

const originOf = (url: string) =>
	URL.canParse(url) ? new URL(url).origin : "";

export default defineConfig({
	// As the bundler resolves: without this pg finds no sockets.
	ssr: { resolve: { conditions: ["workerd"] } },
	test: {
		reporters: ["default", closing],
		projects: [
			{
				resolve: {
					alias: [
						{
							// As CommonJS each of its files would be loaded twice here, so no one could count its steps.
							find: /^sucrase\/dist\/(?!esm)/,
							replacement: `${import.meta.dirname}/node_modules/sucrase/dist/esm/`,
						},
					],
				},
				plugins: [
					cloudflareTest(async () => {
						const [plugins, dns, rows, bucket, database, receiver] =
							await Promise.all([
								registries(),
								resolvers(),
								clickhouse(),
								buckets(),
								databases(),
								receivers(),
							]);
						return {
							wrangler: { configPath: "./wrangler.toml" },
							miniflare: {
								bindings: {
									MIGRATIONS: await readD1Migrations(
										path.join(import.meta.dirname, "migrations"),
									),
									MAIL_FROM: "tenantry@example.com",
									ALLOW_PRIVATE_DESTINATIONS: "true",
									SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
									...dns,
									...plugins,
									...rows,
									...bucket,
									...database,
									...receiver,
								},
								/** Nothing leaves this machine, but for the registry that npm asks anyway. */
								outboundService: async (request) => {
									const { hostname, origin } = new URL(request.url);
									if (
										hostname !== "127.0.0.1" &&
										origin !== originOf(plugins.PUBLISHED_NPM_REGISTRY_URL)
									)
										return new Response("Tests reach no host.", {
											status: 599,
										});
									const asks = !["GET", "HEAD"].includes(request.method);
									const answer = await fetch(request.url, {
										method: request.method,
										headers: [...request.headers].filter(
											([name]) => name !== "host",
										),
										...(asks && { body: await request.arrayBuffer() }),
										redirect: "manual",
										signal: AbortSignal.timeout(30_000),
									});
									const headers = [...answer.headers].filter(([name]) =>
										/^(location|etag|content-type|retry-after|x-amz-.*)$/.test(
											name,
										),
									);
									return new Response(answer.body, {
										status: answer.status,
										headers,
									});
								},
							},
						};
					}),
				],
				test: {
					name: "worker",
					include: ["test/**/*.test.ts"],
					exclude: ["test/scripts/**"],
					setupFiles: ["test/support/setup.ts"],
					// Machines are slow at times; what hangs is found all the same.
					testTimeout: 30_000,
					isolate: false,
				},
			},
			{
				test: {
					name: "scripts",
					include: ["test/scripts/*.test.ts"],
					environment: "node",
					hookTimeout: 90_000,
					testTimeout: 90_000,
				},
			},
		],
	},
});
