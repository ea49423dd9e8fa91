/** Starts a server for the tests of this project, without limits on requests. */
import { mkdirSync, mkdtempSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { environment, run } from "../../../../scripts/run.ts";
import { serve } from "../../../../scripts/server.ts";
import { discard, freePort } from "../../../../test/support/server.ts";

const root = `${import.meta.dirname}/../../../..`;

declare module "vitest" {
	export interface ProvidedContext {
		/** Where the server is. */
		url: string;
		/** The key of its owner. */
		key: string;
	}
}

export default async function setup({ provide }: TestProject) {
	// Below the repository, where the bundler finds packages.
	mkdirSync(`${root}/.wrangler`, { recursive: true });
	const work = mkdtempSync(`${root}/.wrangler/client-`);
	const state = `${work}/state`;
	mkdirSync(state);
	environment.STATE_DIR = state;
	run(
		...(["wrangler", "d1", "migrations", "apply", "DB", "--local"] as const),
		...["--persist-to", state],
	);
	const { key }: { key: string } = JSON.parse(
		run(
			...(["node", "scripts/admin.ts", "bootstrap"] as const),
			...["--email", "owner@example.com", "--json"],
		),
	);
	run("npm", "run", "build", "--workspace=tenantry-client");
	const port = await freePort();
	const server = await serve({ name: `tenantry-client-${port}`, port, folder: work, state });
	provide("url", server.url);
	provide("key", key);
	return async () => {
		await server.kill();
		discard(work);
	};
}
