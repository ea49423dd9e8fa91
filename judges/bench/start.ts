/** Measures the size of the worker, and how long a new isolate takes to start. */
import { gzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { bundleText, startPart } from "../../scripts/check/startup.ts";
import { type Line, lowerMean, shuffled, tell } from "./table.ts";

/** The smallest worker with the same framework. */
const EMPTY = 'import { Hono } from "hono"; export default new Hono().get("/", (c) => c.json({}));';

/**
 * Starts an isolate of one of `scripts` for each request, and returns the response of its route /.
 */
const host = (scripts: Record<string, string>) => `
const scripts = ${JSON.stringify(scripts)};
export default {
	async fetch(request, { LOADER }) {
		const { pathname } = new URL(request.url);
		return LOADER.load({
			compatibilityDate: "2026-08-01",
			compatibilityFlags: ["nodejs_compat"],
			mainModule: "worker.js",
			modules: { "worker.js": scripts[pathname.slice(1)] },
			env: { LOG_REQUESTS: "false", CORS_ORIGINS: "" },
		}).getEntrypoint().fetch("http://localhost/");
	},
};`;

const ROUNDS = 50;

/**
 * Measures how long a new isolate takes until its first response, for the worker and for an empty
 * worker.
 * @param script the bundled worker
 * @returns means of the lower half of the rounds, in milliseconds. Only their ratio is meaningful.
 */
async function startTimes(script: string) {
	const empty = (await bundleText(EMPTY)).text;
	const miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			compatibilityDate: "2026-08-01",
			modules: true,
			script: host({ worker: script, empty }),
			workerLoaders: { LOADER: {} },
		}),
	);
	try {
		const url = await miniflare.ready;
		const measure = async (name: string) => {
			const began = performance.now();
			const response = await fetch(new URL(name, url));
			if (!response.ok)
				throw new Error(`${name} returned ${response.status}: ${await response.text()}`);
			await response.arrayBuffer();
			return performance.now() - began;
		};
		const times: { worker: number[]; empty: number[] } = { worker: [], empty: [] };
		for (let i = 0; i < ROUNDS; i++)
			for (const name of shuffled(["worker", "empty"] as const))
				times[name].push(await measure(name));
		return { worker: lowerMean(times.worker), empty: lowerMean(times.empty) };
	} finally {
		await miniflare.dispose();
	}
}

/**
 * Measures the size of the worker, and how long a new isolate takes compared with an empty Hono
 * worker.
 */
export async function measureStart(script: string): Promise<Line[]> {
	tell("start-up");
	const { kib } = await startPart();
	const { worker, empty } = await startTimes(script);
	return [
		{
			title: "New isolate until its first response ÷ empty Hono worker",
			cells: { tenantry: (worker / empty).toFixed(1) },
			goal: "5.7",
		},
		{
			title: "Bundle evaluated at start, KiB (gzip)",
			cells: { tenantry: kib.toFixed(0) },
			goal: "200",
		},
		{
			title: "Bundle, KiB (gzip)",
			cells: { tenantry: (gzipSync(script).length / 1024).toFixed(0) },
		},
	];
}
