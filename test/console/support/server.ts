/** Starts `npm start` for the tests of the console, next to the servers that it needs. */
import { mkdirSync, writeFileSync } from "node:fs";
import { Tenantry } from "tenantry-client";
import type { TestProject } from "vitest/node";
import { CLIENT } from "../../../scripts/provider/oidc.ts";
import { providers } from "../../support/provider.ts";
import { registries } from "../../support/registry.ts";
import { discard, folder, freePort, Server } from "../../support/server.ts";
import { resolver } from "./dns.ts";

declare module "vitest" {
	export interface ProvidedContext {
		console: {
			/** Where the server is. */
			url: string;
			/** The key of its owner that it prints. */
			key: string;
			/** Other keys of its owner, as requests are limited by key. */
			keys: string[];
			/** The link that it prints, which signs in. */
			link: string;
			/** The folder of its state; mails are in `mail`. */
			state: string;
			/** The server's resolver (dns.ts). */
			resolver: string;
			/** An OpenID provider, which is also GitLab. */
			provider: string;
		};
	}
}

/** The number of workers that can run without sharing a key. */
const KEYS = 8;

const lines = (variables: Record<string, string>) =>
	Object.entries(variables)
		.map(([name, value]) => `${name}=${value}\n`)
		.join("");

export default async function setup({ provide }: TestProject) {
	const state = folder();
	const { NPM_REGISTRY_URL, GITHUB_API_URL, GITHUB_ARCHIVE_URL } = await registries();
	const DOH_URL = await resolver();
	const { PROVIDER_URL: provider } = await providers();
	mkdirSync(state, { recursive: true });
	writeFileSync(
		`${state}/dev.vars`,
		lines({
			NPM_REGISTRY_URL,
			GITHUB_API_URL,
			GITHUB_ARCHIVE_URL,
			DOH_URL,
			SSO_GITLAB_URL: provider,
			SSO_GITLAB_CLIENT_ID: CLIENT.client_id,
			SSO_GITLAB_CLIENT_SECRET: CLIENT.client_secret,
			USAGE_FLUSH_SECONDS: "0",
			ACCESS_EVENTS_PER_DAY: "0",
		}),
	);
	const port = await freePort();
	const server = new Server({ PORT: String(port), STATE_DIR: state });
	const [, key = ""] = await server.says(/export KEY=(\S+)/);
	const [, link = ""] = await server.says(/(http\S+#key=\S+)/);
	await server.says(/Data is stored in/);
	const url = `http://localhost:${port}`;
	const owner = new Tenantry({ baseUrl: url, key });
	const made = await Promise.all(
		Array.from({ length: KEYS }, (_, i) =>
			owner.personalApiKeys.create({ label: `Tests ${i}`, scopes: ["*"] }),
		),
	);
	const keys = made.map(({ value }) => value ?? "");
	provide("console", { url, key, keys, link, state, resolver: DOH_URL, provider });
	return async () => {
		await server.stop();
		discard(state);
	};
}
