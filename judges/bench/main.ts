/**
 * `npm run bench`: measures the cost of the service, compared with a handwritten worker and other
 * services, and prints one table (docs/internals/performance.md). Measurements alternate in rounds,
 * so that other load on the computer affects all of them.
 *
 * npm run bench -- [--quick] [--rounds 50] [--only list,growth]; judges/bench/options.ts has the parts.
 */
import { compareCosts } from "./cost.ts";
import { growthLines, watchGrowth } from "./growth.ts";
import { measureMemory, profile } from "./isolate.ts";
import { OPERATIONS } from "./operations.ts";
import { readOptions } from "./options.ts";
import { compareDistances, compareRequests } from "./requests.ts";
import { createState, startAll } from "./services.ts";
import { measureSimulators } from "./simulators.ts";
import { measureStart } from "./start.ts";
import { attempt, failed, type Line, onProgress, tell, toMarkdown } from "./table.ts";
import { bundleWorker, newFolder, SERVICE, startWorker } from "./workers.ts";

const { parts, rounds, sizes, distances, requests } = readOptions(process.argv.slice(2));
const lines: Line[] = [];

// Only the table goes to standard output.
onProgress(console.error);

/** Adds the lines of a part. If it fails, the other parts are still measured. */
const add = (part: string, measure: () => Promise<Line[]>) =>
	attempt(part, async () => lines.push(...(await measure())));

async function compare(script: string, world: Awaited<ReturnType<typeof createState>>) {
	const compared = OPERATIONS.filter((operation) => parts.has(operation));
	const peers = compared.length > 0 || parts.has("distance") || parts.has("cost");
	if (!peers && !parts.has("simulators")) return;
	const services = await startAll(script, world, { peers });
	// First, because it needs new services.
	if (parts.has("cost")) await add("cost", () => compareCosts(services));
	for (const operation of compared)
		await add(operation, () => compareRequests(services, operation, { rounds }));
	if (parts.has("distance"))
		await add("distance", () => compareDistances(services, ["list", "invite"], distances));
	const [own, floor] = ["tenantry", "floor"].map(
		(name) => services.find(({ column }) => column === name)?.service,
	);
	if (parts.has("simulators") && own && floor)
		await add("simulators", () => measureSimulators(floor, own, rounds));
	for (const { service } of services) await service.stop();
}

/** Adds the lines of all parts. */
async function run() {
	tell("bundling");
	const script = bundleWorker(SERVICE, "deployed");
	const world = await createState(script);
	await attempt("the comparison", () => compare(script, world));
	if (parts.has("start")) await add("start", () => measureStart(script));
	if (parts.has("memory"))
		await add("memory", () =>
			measureMemory(script, world.owner, { state: newFolder(world.state), requests }),
		);
	if (parts.has("profile"))
		await add("profile", () =>
			profile(bundleWorker(SERVICE, "readable"), world.owner, {
				state: newFolder(world.state),
				operation: "list",
				requests: 2_000,
			}),
		);
	if (parts.has("growth"))
		await add("growth", async () => {
			const worker = await startWorker({ script, state: newFolder() });
			const readings = await watchGrowth(worker, sizes);
			await worker.stop();
			return growthLines(readings, sizes);
		});
}

await attempt("everything", run);
console.log(toMarkdown(lines));
process.exit(failed() > 0 ? 1 : 0);
