/**
 * Runs the operator's commands: through a server if one is running, otherwise on the files of the
 * local state.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { getPlatformProxy } from "wrangler";
import type { Outcome } from "../src/operator/shape.ts";
import { addBase64 } from "./base64.ts";
import { lock, root, serverRuns, settings, state, unlock, variablesFile, WORKER } from "./state.ts";

/** How long to wait for a server or for the lock. A server starts faster. */
const START_TIMEOUT_MS = 120_000;

type Service = { run: (command: string, options: string) => Promise<string> };

/** Where the local state has the data of bindings. */
export const stored = `${state}/v3`;

/**
 * Opens bindings. It doesn't use wrangler.toml, because this has bindings that only the worker's
 * process can use, such as Workflows.
 * @param persist the folder with their data, unless they aren't local
 */
export async function connect<B extends object>(bindings: object, persist?: string) {
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
			persist: persist !== undefined && { path: persist },
		});
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** Opens the local state's D1 database and KV namespace. The process must have locked the state. */
export const openFiles = () =>
	connect<Env>(
		{
			d1_databases: [{ binding: "DB", database_name: "tenantry" }],
			kv_namespaces: [{ binding: "KEYS" }],
		},
		stored,
	);

/**
 * Binds to the operator's entrypoint of a worker on this computer or, with `remote`, of a deployed
 * worker.
 */
export const openService = (service: string, remote: boolean) =>
	connect<{ OPERATOR: Service }>({
		services: [{ binding: "OPERATOR", service, entrypoint: "Operator", remote }],
	});

/** Runs a command. */
export type Operate = (command: string, options: object) => Promise<Outcome>;

async function onService<T>(
	service: string,
	remote: boolean,
	use: (operate: Operate) => Promise<T>,
): Promise<T> {
	const { env, dispose } = await openService(service, remote);
	const operate: Operate = async (command, options) =>
		JSON.parse(await env.OPERATOR.run(command, JSON.stringify(options)));
	return use(operate).finally(dispose);
}

async function onFiles<T>(use: (operate: Operate) => Promise<T>): Promise<T> {
	addBase64();
	const { run } = await import("../src/operator/run.ts");
	const { env, dispose } = await openFiles();
	const SECRETS_KEY = settings(variablesFile).get("SECRETS_KEY");
	const bindings = { ...env, ...(SECRETS_KEY && { SECRETS_KEY }) };
	return use((command, options) => run(bindings, command, options)).finally(dispose);
}

/**
 * Connects to the service, to run commands.
 * @param service the name of the deployed worker; undefined for the local state
 * @throws if the state is locked and no server responds in time
 */
export async function withOperator<T>(
	service: string | undefined,
	use: (operate: Operate) => Promise<T>,
): Promise<T> {
	if (service) return onService(service, true, use);
	const deadline = Date.now() + START_TIMEOUT_MS;
	while (Date.now() < deadline) {
		if (await serverRuns()) return onService(WORKER, false, use);
		if (lock("npm run admin")) return onFiles(use).finally(unlock);
		// A server is starting, or another command has locked the state.
		await sleep(200);
	}
	throw new Error(
		`Another process uses ${state}, but no server responds. Stop that process, and try again.`,
	);
}
