import * as z from "zod";
import { TRIPS } from "../../harness.ts";
import { OPERATIONS, type Operation, type Service } from "../../operations.ts";
import type { Owner } from "../../seed.ts";
import { bundleWorker, startWorker } from "../../workers.ts";
import { asService } from "../tenantry.ts";
import { type Recipe, type Recording, recipeOf } from "./recipe.ts";

const Trips = z.array(z.array(z.object({ sql: z.string(), params: z.array(z.unknown()) })));

/** An entry of the activity log has it: the statements of two recordings differ in nothing else. */
const REQUEST_ID = "01900000-0000-7000-8000-000000000000";

/** Calls an operation of the service, and returns the statements that it sent to D1. */
async function record(service: Service, operation: Operation): Promise<Recording> {
	const call = service.call(operation);
	if (!call) throw new Error(`The service has no operation ${operation}.`);
	const { path, body, ...request } = call;
	const headers = { ...request.headers, "x-bench-delay": "0", "x-request-id": REQUEST_ID };
	const at = Date.now();
	const response = await fetch(new URL(path, service.url), {
		...request,
		headers,
		...(body && { body }),
	});
	if (!response.ok) throw new Error(await response.text());
	await response.text();
	const trips = await fetch(new URL(TRIPS, service.url), { headers });
	return { trips: Trips.parse(await trips.json()), at };
}

/** Records the statements of a running service for each operation. */
export async function recordRecipes(service: Service) {
	const recipes: Partial<Record<Operation, Recipe[][]>> = {};
	for (const operation of OPERATIONS)
		recipes[operation] = recipeOf(
			await record(service, operation),
			await record(service, operation),
		);
	await service.reset();
	return recipes;
}

export const bundle = () => bundleWorker(`${import.meta.dirname}/worker.ts`);

/**
 * @param state a folder with the data of this service
 * @param recipes the result of `recordRecipes`
 */
export const start = async (script: string, owner: Owner, state: string, recipes: object) =>
	asService("floor", owner, await startWorker({ script, state, bindings: { RECIPES: recipes } }));
