import { readFile } from "node:fs/promises";
import { Caller } from "../../src/mcp/server/caller.ts";

const unreachable = async (): Promise<never> => {
	throw new Error("The API can't be called.");
};

const files = new Map<string, Promise<unknown>>();

/** Reads each file once. */
class Offline extends Caller {
	override async asset(path: string) {
		const file = files.get(path) ?? readFile(`public${path}`, "utf8").then(JSON.parse);
		files.set(path, file);
		return file;
	}
}

/** A caller of the MCP server that reads the API's files, without the API. */
export const offline = new Offline(
	{ scopes: ["*"], organizations: [], projects: [], allowed_ips: [], expires_at: null },
	{ asset: unreachable, report: unreachable, send: unreachable },
);
