import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { Response } from "miniflare";
import { defineConfig } from "vitest/config";
import { closing } from "./test/support/closing.ts";
import { resolvers } from "./test/support/resolver.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";

export default defineConfig({
	test: {
		reporters: ["default", closing],
		projects: [
			{
				plugins: [
					cloudflareTest(async () => ({
						wrangler: { configPath: "./wrangler.toml" },
						miniflare: {
							bindings: {
								MIGRATIONS: await readD1Migrations(
									path.join(import.meta.dirname, "migrations"),
								),
								MAIL_FROM: "tenantry@example.com",
								...(await resolvers()),
							},
							/** Nothing leaves this machine. */
							outboundService: async (request) => {
								if (new URL(request.url).hostname !== "127.0.0.1")
									return new Response("Tests reach no host.", { status: 599 });
								const answer = await fetch(request.url, {
									method: request.method,
									headers: [...request.headers],
									body: await request.arrayBuffer(),
									signal: AbortSignal.timeout(5000),
								});
								return new Response(await answer.arrayBuffer(), {
									status: answer.status,
								});
							},
						},
					})),
				],
				test: {
					name: "worker",
					include: ["test/**/*.test.ts"],
					exclude: ["test/scripts/**"],
					setupFiles: ["test/support/setup.ts"],
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
