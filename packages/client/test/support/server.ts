/** Starts a server for the tests of this project, without limits on requests. */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync } from "node:fs";
import type { TestProject } from "vitest/node";
import * as z from "zod";
import { run } from "../../../../build/run.ts";
import { bootstrap, serve } from "../../../../test/support/serve.ts";
import { discard, freePort } from "../../../../test/support/server.ts";

const root = `${import.meta.dirname}/../../../..`;

declare module "vitest" {
	export interface ProvidedContext {
		/** Where the server is. */
		url: string;
		/** The key of its owner, whose current organization the command line's tests change. */
		key: string;
		/** Keys of users of their own, for files that run at the same time. */
		keys: { client: string; readme: string; retries: string; go: string; python: string };
	}
}

const Invite = z.object({ accept_url: z.url() });
const Accepted = z.object({ personal_api_key: z.object({ value: z.string() }) });

/** The key of a new user with an organization of their own. */
async function newUser(url: string, key: string) {
	const post = async (path: string, body: object, headers = {}): Promise<unknown> => {
		const response = await fetch(url + path, {
			method: "POST",
			headers: { "content-type": "application/json", ...headers },
			body: JSON.stringify(body),
		});
		return response.json();
	};
	const authorization = `Bearer ${key}`;
	const target_email = `${randomUUID()}@example.com`;
	const invite = { target_email, send_email: false };
	const { accept_url } = Invite.parse(
		await post("/api/organizations/@current/invites", invite, { authorization }),
	);
	const token = new URL(accept_url).pathname.split("/").at(-1);
	const { personal_api_key } = Accepted.parse(await post(`/api/invites/${token}/accept`, {}));
	const own = { authorization: `Bearer ${personal_api_key.value}` };
	await post("/api/organizations", { name: "Own" }, own);
	return personal_api_key.value;
}

export default async function setup({ provide }: TestProject) {
	// Below the repository, where the bundler finds packages.
	mkdirSync(`${root}/.wrangler`, { recursive: true });
	const work = mkdtempSync(`${root}/.wrangler/client-`);
	const state = `${work}/state`;
	mkdirSync(state);
	const { key } = bootstrap(state);
	run("npm", "run", "build", "--workspace=tenantry-client");
	const port = await freePort();
	const server = await serve({ name: `tenantry-client-${port}`, port, folder: work, state });
	provide("url", server.url);
	provide("key", key);
	const newKey = () => newUser(server.url, key);
	provide("keys", {
		client: await newKey(),
		readme: await newKey(),
		retries: await newKey(),
		go: await newKey(),
		python: await newKey(),
	});
	return async () => {
		await server.kill();
		discard(work);
	};
}
