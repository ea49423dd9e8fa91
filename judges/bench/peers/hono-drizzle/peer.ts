import type { Owner } from "../../seed.ts";
import { bundleWorker, startWorker } from "../../workers.ts";
import { asService } from "../tenantry.ts";

export const bundle = () => bundleWorker(`${import.meta.dirname}/worker.ts`);

/** @param state a folder with the data of this service */
export const start = async (script: string, owner: Owner, state: string) =>
	asService("hono-drizzle", owner, await startWorker({ script, state }));
