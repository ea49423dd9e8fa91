import { WorkerEntrypoint } from "cloudflare:workers";
import { run } from "./run.ts";

/**
 * The operator's commands, for `npm run admin`. No HTTP request reaches an entrypoint that has no fetch handler: it takes
 * a service binding, which only the owner of the account, or of the machine that the worker runs on, can make.
 */
export class Operator extends WorkerEntrypoint<Env> {
	/**
	 * @param options JSON
	 * @returns an `Outcome` as JSON: an object would arrive as a stub
	 */
	async run(command: string, options: string): Promise<string> {
		return JSON.stringify(await run(this.env, command, JSON.parse(options)));
	}
}
