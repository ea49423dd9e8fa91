/** Starts `npm start` for the tests of the console, next to the servers that it needs. */
import { mkdirSync, writeFileSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { registries } from "../../support/registry.ts";
import { discard, folder, freePort, Server } from "../../support/server.ts";
import { resolver } from "./dns.ts";

declare module "vitest" {
	export interface ProvidedContext {
		console: {
			/** Where the server is. */
			url: string;
			/** The key of its owner. */
			key: string;
			/** The link that it prints, which signs in. */
			link: string;
			/** The folder of its state; mails are in `mail`. */
			state: string;
			/** The server's resolver (dns.ts). */
			resolver: string;
		};
	}
}

const lines = (variables: Record<string, string>) =>
	Object.entries(variables)
		.map(([name, value]) => `${name}=${value}\n`)
		.join("");

export default async function setup({ provide }: TestProject) {
	const state = folder();
	const { NPM_REGISTRY_URL, GITHUB_API_URL, GITHUB_ARCHIVE_URL } = await registries();
	const DOH_URL = await resolver();
	mkdirSync(state, { recursive: true });
	writeFileSync(
		`${state}/dev.vars`,
		lines({
			NPM_REGISTRY_URL,
			GITHUB_API_URL,
			GITHUB_ARCHIVE_URL,
			DOH_URL,
			USAGE_FLUSH_SECONDS: "0",
		}),
	);
	const port = await freePort();
	const server = new Server({ PORT: String(port), STATE_DIR: state });
	const [, key = ""] = await server.says(/export KEY=(\S+)/);
	const [, link = ""] = await server.says(/(http\S+#key=\S+)/);
	await server.says(/Data is stored in/);
	provide("console", { url: `http://localhost:${port}`, key, link, state, resolver: DOH_URL });
	return async () => {
		await server.stop();
		discard(state);
	};
}
