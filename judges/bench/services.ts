/** The services that are compared. */
import * as betterAuth from "./peers/better-auth/peer.ts";
import * as django from "./peers/django/peer.ts";
import * as floor from "./peers/floor/peer.ts";
import * as honoDrizzle from "./peers/hono-drizzle/peer.ts";
import { asService } from "./peers/tenantry.ts";
import type { Measured } from "./requests.ts";
import { createWorld, type Owner } from "./seed.ts";
import { COLUMNS, type Column, tell } from "./table.ts";
import { migrate, newFolder, startWorker } from "./workers.ts";

/**
 * Creates a folder with the initial data of this service and of services with the same tables.
 * Returns it with the owner.
 */
export async function createState(script: string) {
	const state = newFolder();
	const worker = await startWorker({ script, state });
	const database = await worker.database();
	await migrate(database);
	const owner = await createWorld({ database, keys: await worker.keys() });
	await worker.stop();
	return { state, owner };
}

/** Starts this service with a copy of the data. */
const startOwn = async (script: string, owner: Owner, state: string) =>
	asService("tenantry", owner, await startWorker({ script, state: newFolder(state) }));

/**
 * Starts a service that may not be installed. Returns null, and reports it, if it can't be
 * installed or started.
 */
async function startIfThere<T>(column: Column, start: () => Promise<T | null>) {
	tell(`starting ${COLUMNS[column]}`);
	const service = await start().catch((error: unknown) => {
		tell(String(error).split("\n")[0] ?? "");
		return null;
	});
	if (!service) tell(`Skipped, because it can't be installed or started: ${COLUMNS[column]}`);
	return service;
}

/**
 * Starts this service twice, and the services that it is compared with.
 * @param peers whether to start better-auth and Django: "installed" only if their packages are
 * installed already
 */
export async function startAll(
	script: string,
	{ owner, state }: { owner: Owner; state: string },
	{ peers = true }: { peers?: boolean | "installed" } = {},
): Promise<Measured[]> {
	const own = await startOwn(script, owner, state);
	tell("starting the handwritten worker and Hono + Drizzle");
	const recipes = await floor.recordRecipes(own);
	const services: [Column, Measured["service"] | null][] = [
		["tenantry", own],
		["again", await startOwn(script, owner, state)],
		["floor", await floor.start(floor.bundle(), owner, newFolder(state), recipes)],
		["hono-drizzle", await honoDrizzle.start(honoDrizzle.bundle(), owner, newFolder(state))],
	];
	const isWanted = (isInstalled: () => boolean) => (peers === "installed" ? isInstalled() : peers);
	if (isWanted(betterAuth.isInstalled))
		services.push([
			"better-auth",
			await startIfThere("better-auth", async () =>
				betterAuth.start(await betterAuth.bundle(), newFolder()),
			),
		]);
	if (isWanted(django.isInstalled))
		services.push([
			"django",
			await startIfThere("django", async () => django.start(await django.install())),
		]);
	return services.flatMap(([column, service]) => (service ? [{ column, service }] : []));
}
