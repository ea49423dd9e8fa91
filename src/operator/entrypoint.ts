import { WorkerEntrypoint } from "cloudflare:workers";

/**
 * The entrypoint of operator commands, for `npm run admin`. An entrypoint without a fetch handler
 * can't be reached over HTTP, only through a service binding. Only the owner of the account, or of
 * the machine that runs the worker, can create one.
 */
export class Operator extends WorkerEntrypoint<Env> {
	/**
	 * Runs a command.
	 * @param options JSON
	 * @returns an `Outcome` as JSON, because an object would arrive as an RPC stub
	 */
	async run(command: string, options: string): Promise<string> {
		const { run } = await import("./run.ts");
		return JSON.stringify(await run(this.env, command, JSON.parse(options)));
	}
}
