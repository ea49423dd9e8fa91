import type { Owner } from "../../seed.ts";
import { bundleWorker } from "../../workers.ts";
import { startLike } from "../tenantry.ts";

export const bundle = () => bundleWorker(`${import.meta.dirname}/worker.ts`);

/** @param state a folder with the data of this service */
export const start = (script: string, owner: Owner, state: string) =>
	startLike("hono-drizzle", owner, { script, state });
