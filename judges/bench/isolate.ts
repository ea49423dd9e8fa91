/** Measures the memory of this service's isolate, and where its time goes. */
import { truncateSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { sendMany } from "./load.ts";
import { inspect, logCollections, watchMemory } from "./memory.ts";
import { type Operation, TITLES } from "./operations.ts";
import { asService } from "./peers/tenantry.ts";
import type { Owner } from "./seed.ts";
import { type Line, tell } from "./table.ts";
import { newFolder, startWorker } from "./workers.ts";

/** Time for the inspector to respond, which it does only while no work is waiting. */
const SETTLE_MS = 1_500;

/** Attempts to get a garbage collection from the inspector. */
const MAX_TRIES = 20;

const FEW = 10;

/** Requests between two progress messages. */
const STEP = 5_000;

/** Measures the memory of the isolate after few and after many requests, in MiB. */
export async function measureMemory(
	script: string,
	owner: Owner,
	{ state, requests }: { state: string; requests: number },
): Promise<Line[]> {
	const { log, variables } = logCollections(newFolder());
	const before = { ...process.env };
	Object.assign(process.env, variables);
	const worker = await startWorker({ script, state, inspect: true });
	process.env = before;
	const service = asService("tenantry", owner, worker);
	/**
	 * Returns the memory after a collection, which can take long on a busy computer, and the peak
	 * since the last call.
	 */
	const look = async () => {
		// The inspector isn't connected during the other requests, because it would have to wait for
		// their work.
		const memory = await watchMemory(await worker.inspector(), log);
		let peak = 0;
		let held: number | null = null;
		for (let tries = 0; tries < MAX_TRIES && held === null; tries += 1) {
			memory.collect();
			// The inspector runs when requests do.
			await sendMany(service, "list", FEW);
			await sleep(SETTLE_MS);
			const taken = memory.take();
			peak = Math.max(peak, taken.peak);
			held = taken.held;
		}
		memory.close();
		truncateSync(log);
		return { held, peak };
	};
	await sendMany(service, "list", 500);
	const first = await look();
	for (let sent = 0; sent < requests; sent += STEP) {
		await sendMany(service, "list", Math.min(STEP, requests - sent));
		tell(`memory: ${Math.min(sent + STEP, requests)} of ${requests} requests`);
	}
	const last = await look();
	await service.stop();
	const mib = (size: number | null) => (size === null ? "?" : size.toFixed(1));
	return [
		{
			title: `Isolate memory, MiB: after 500 requests; after ${requests.toLocaleString("en")} more; maximum, including garbage`,
			cells: {
				tenantry: `${mib(first.held)}; ${mib(last.held)}; ${mib(Math.max(first.peak, last.peak))}`,
			},
		},
	];
}

const Profile = z.object({
	nodes: z.array(
		z.object({
			id: z.int(),
			callFrame: z.object({
				functionName: z.string(),
				url: z.string(),
				lineNumber: z.int(),
			}),
		}),
	),
	samples: z.array(z.int()),
	timeDeltas: z.array(z.int()),
});

const Answer = z.object({ id: z.int(), result: z.object({ profile: Profile }) });

/** Returns the package or folder of each line of a bundle, according to the bundler's comments. */
function sourcesOf(script: string) {
	let source = "";
	return script.split("\n").map((line) => {
		const [, path] = /^\s*\/\/ (?:\.\.\/)*(\S+\.(?:[cm]?[jt]s|json))$/.exec(line) ?? [];
		if (path) source = path;
		const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
		const [, folder] = /(?:^|\/)(src\/[^/]+|bench)\//.exec(source) ?? [];
		return name ?? folder ?? "the rest";
	});
}

/** Smaller shares are left out. */
const SMALLEST_SHARE = 0.01;

/**
 * Profiles the isolate while an operation is repeated.
 * @param script the bundle, not minified
 * @returns the share of each package and folder of `src` in the isolate's CPU time. The simulators
 * run in separate isolates, which aren't in the profile.
 */
export async function profile(
	script: string,
	owner: Owner,
	{ state, operation, requests }: { state: string; operation: Operation; requests: number },
): Promise<Line[]> {
	tell("profile");
	const worker = await startWorker({ script, state, inspect: true });
	const service = asService("tenantry", owner, worker);
	await sendMany(service, operation, 1_000);
	const { socket, send } = await inspect(await worker.inspector());
	send("Profiler.enable");
	send("Profiler.setSamplingInterval", { interval: 200 });
	send("Profiler.start");
	await sleep(SETTLE_MS);
	await sendMany(service, operation, requests);
	await sleep(SETTLE_MS);
	const answer = new Promise<z.infer<typeof Profile>>((resolve) =>
		socket.addEventListener("message", ({ data }) => {
			const { data: message } = Answer.safeParse(JSON.parse(String(data)));
			if (message) resolve(message.result.profile);
		}),
	);
	send("Profiler.stop");
	const { nodes, samples, timeDeltas } = await answer;
	socket.close();
	await service.stop();
	const sources = sourcesOf(script);
	const byId = new Map(
		nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
			// A function without a URL is native. One with another URL than the bundle's is part of the
			// runtime, such as the D1 client.
			const isBundle = url.endsWith("worker.js");
			return [
				id,
				isBundle ? (sources[lineNumber] ?? "the rest") : url || functionName || "(native)",
			];
		}),
	);
	const times = new Map<string, number>();
	for (const [i, sample] of samples.entries()) {
		const name = byId.get(sample) ?? "the rest";
		times.set(name, (times.get(name) ?? 0) + (timeDeltas[i] ?? 0));
	}
	const idle = ["(idle)", "(root)"].reduce((sum, name) => sum + (times.get(name) ?? 0), 0);
	const total = times.values().reduce((sum, time) => sum + time, 0) - idle;
	const shares = Array.from(times, ([name, time]) => ({ name, share: time / total }))
		.filter(({ name, share }) => !["(idle)", "(root)"].includes(name) && share >= SMALLEST_SHARE)
		.sort((a, b) => b.share - a.share);
	return [
		{
			title: `**CPU profile of the isolate: ${TITLES[operation].toLowerCase()}**`,
			cells: {},
		},
		...shares.map(
			({ name, share }): Line => ({
				title: name,
				cells: { tenantry: `${(100 * share).toFixed(0)} %` },
			}),
		),
	];
}
