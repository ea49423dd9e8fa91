/** Carries out the operator's commands: through a server where one runs, otherwise on the files of the local state. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { getPlatformProxy } from "wrangler";
import type { Outcome } from "../src/operator/shape.ts";
import { lock, root, serverRuns, state, unlock, WORKER } from "./state.ts";

/** Longer than a server takes to start. */
const START_TIMEOUT_MS = 120_000;

type Service = { run: (command: string, options: string) => Promise<string> };

/** Bindings that are described here: wrangler.toml has some, such as Workflows, that no process but the worker's can have. */
async function connect<B extends object>(bindings: object, persist: boolean) {
	mkdirSync(`${root}/.wrangler`, { recursive: true });
	const folder = mkdtempSync(`${root}/.wrangler/admin-`);
	try {
		const configPath = `${folder}/wrangler.json`;
		const config = {
			name: `${WORKER}-admin`,
			compatibility_date: "2026-08-01",
		};
		writeFileSync(configPath, JSON.stringify({ ...config, ...bindings }));
		return await getPlatformProxy<B>({
			configPath,
			envFiles: [],
			persist: persist && { path: `${state}/v3` },
		});
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** The database and the keys of the local state, for a process that has the lock. */
export const openFiles = () =>
	connect<Env>(
		{
			d1_databases: [{ binding: "DB", database_name: "tenantry" }],
			kv_namespaces: [{ binding: "KEYS" }],
		},
		true,
	);

/** The operator's entrypoint of a worker that runs on this machine, or with `remote` of a deployed one. */
export const openService = (service: string, remote: boolean) =>
	connect<{ OPERATOR: Service }>(
		{
			services: [{ binding: "OPERATOR", service, entrypoint: "Operator", remote }],
		},
		false,
	);

async function throughService(
	command: string,
	options: object,
	service: string,
	remote: boolean,
): Promise<Outcome> {
	const { env, dispose } = await openService(service, remote);
	try {
		return JSON.parse(await env.OPERATOR.run(command, JSON.stringify(options)));
	} finally {
		await dispose();
	}
}

async function onFiles(command: string, options: object): Promise<Outcome> {
	const { run } = await import("../src/operator/run.ts");
	const { env, dispose } = await openFiles();
	return run(env, command, options).finally(dispose);
}

/**
 * @param service the name of the deployed worker; undefined: the local state
 * @throws where neither a server nor the files can be reached
 */
export async function operate(
	command: string,
	options: object,
	service?: string,
): Promise<Outcome> {
	if (service) return throughService(command, options, service, true);
	const deadline = Date.now() + START_TIMEOUT_MS;
	while (Date.now() < deadline) {
		if (await serverRuns()) return throughService(command, options, WORKER, false);
		if (lock("npm run admin")) return onFiles(command, options).finally(unlock);
		// A server is about to start, or another command works on the files.
		await sleep(200);
	}
	return { error: `${state} is in use, and no server answers there.` };
}
