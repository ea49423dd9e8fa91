/**
 * What the service costs, beside a worker by hand and other services, as one table (docs/performance.md). Measures take turns,
 * round by round, so that whatever else the machine does meets all of them.
 *
 * npm run bench -- [--quick] [--rounds 15] [--only list,growth]; bench/options.ts has the parts.
 */
import { growthLines, watchGrowth } from "./growth.ts";
import { measureMemory, measureStart, profile } from "./isolate.ts";
import { OPERATIONS } from "./operations.ts";
import { readOptions } from "./options.ts";
import { compareDistances, compareRequests } from "./requests.ts";
import { createState, startAll } from "./services.ts";
import { measureSimulators } from "./simulators.ts";
import { type Line, onProgress, tell, toMarkdown } from "./table.ts";
import { bundleWorker, newFolder, SERVICE, startWorker } from "./workers.ts";

const { parts, rounds, sizes, distances, requests } = readOptions(process.argv.slice(2));
const lines: Line[] = [];

// The table alone goes to standard output.
onProgress(console.error);

/** Adds the lines of all parts. */
async function run() {
	tell("bundling");
	const script = bundleWorker(SERVICE, "deployed");
	const world = await createState(script);

	const compared = OPERATIONS.filter((operation) => parts.has(operation));
	if (compared.length > 0 || parts.has("distance") || parts.has("simulators")) {
		const peers = compared.length > 0 || parts.has("distance");
		const services = await startAll(script, world, { peers });
		for (const operation of compared)
			lines.push(...(await compareRequests(services, operation, rounds)));
		if (parts.has("distance"))
			lines.push(...(await compareDistances(services, ["list", "invite"], distances)));
		const [own, floor] = ["tenantry", "floor"].map(
			(name) => services.find(({ column }) => column === name)?.service,
		);
		if (parts.has("simulators") && own && floor)
			lines.push(...(await measureSimulators(floor, own, rounds)));
		for (const { service } of services) await service.stop();
	}
	if (parts.has("start")) lines.push(...(await measureStart(script)));
	if (parts.has("memory"))
		lines.push(
			...(await measureMemory(script, world.owner, { state: newFolder(world.state), requests })),
		);
	if (parts.has("profile"))
		lines.push(
			...(await profile(bundleWorker(SERVICE, "readable"), world.owner, {
				state: newFolder(world.state),
				operation: "list",
				requests: 2_000,
			})),
		);
	if (parts.has("growth")) {
		const worker = await startWorker({ script, state: newFolder() });
		lines.push(...growthLines(await watchGrowth(worker, sizes), sizes));
		await worker.stop();
	}
}

// A failure loses no lines that are there already.
const failed = await run().then(
	() => false,
	(error: unknown) => {
		console.error(error);
		return true;
	},
);
console.log(toMarkdown(lines));
process.exit(failed ? 1 : 0);
