/** Runs servers with a new state: one for a command, or one that tests kill repeatedly. */
import { mkdirSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { buildAssets } from "../build/assets.ts";
import { environment } from "../build/run.ts";
import { freePort } from "../test/support/peers.ts";
import { bootstrap, serve } from "../test/support/serve.ts";

/** The same interval as in `npm start`. */
const TICK_MS = 30_000;

/**
 * Empties the folder of a command, and creates the folder of a state in it. Servers of this process
 * also register in the command's folder.
 * @returns the folder of the state
 */
export function prepareState(work: string) {
	const state = `${work}/state`;
	rmSync(work, { recursive: true, force: true });
	mkdirSync(state, { recursive: true });
	environment.CLOUDFLARE_DEV_REGISTRY_PATH = `${work}/registry`;
	return state;
}

type Start = { email?: string; organization?: string; variables?: Record<string, string> };

/**
 * Starts a server with a new state, which ends with this process.
 * @param name of the command
 * @returns its URL, its owner, and the folder of the command
 */
export async function serveNew(name: string, { variables, ...owned }: Start = {}) {
	const work = resolve(import.meta.dirname, "../.wrangler", name);
	const state = prepareState(work);
	console.log("Starting the server…");
	// The server needs the compiler of plugins, the documentation and the console.
	buildAssets();
	const owner = bootstrap(state, owned);
	const { url } = await serve({
		...{ name: `tenantry-${name}`, port: await freePort(), folder: work, state },
		...(variables && { variables }),
	});
	return { url, owner, work };
}

type Options = { name: string; port: number; work: string; state: string };

/** Starts the server, and restarts it whenever it ends. */
export async function keepServer({ name, port, work, state }: Options) {
	const counts = { kills: 0, ends: 0 };
	let stopped = false;
	const start = () =>
		serve({
			name,
			port,
			folder: work,
			state,
			log: `${work}/server.log`,
			variables: { ALLOW_PRIVATE_DESTINATIONS: "true" },
		});
	let server = start();
	const { url } = await server;
	async function watch() {
		while (!stopped) {
			await (await server).ended;
			counts.ends += 1;
			if (!stopped) server = start();
		}
	}
	const watching = watch();
	const ticking = setInterval(
		() => fetch(`${url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`).catch(() => {}),
		TICK_MS,
	);
	return {
		url,
		counts,
		async kill() {
			const { kill } = await server;
			counts.kills += 1;
			await kill();
		},
		async stop() {
			clearInterval(ticking);
			stopped = true;
			await (await server).kill();
			await watching;
		},
	};
}
