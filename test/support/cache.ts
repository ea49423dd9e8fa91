import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { NotInstalled } from "./peers.ts";

/** Not in node_modules, which `npm ci` removes. */
const CACHE = `${process.env.XDG_CACHE_HOME || `${homedir()}/.cache`}/tenantry`;

/** Returns the path of a folder of programs, which `cached` makes. */
export const cachedAt = (name: string) => `${CACHE}/${name}`;

/**
 * Makes a folder of programs, once for each user.
 * @param install makes the folder under another name, since another run may be making it too
 * @throws `NotInstalled` with this reason if the programs can't be installed
 */
export async function cached(
	name: string,
	reason: string,
	install: (draft: string) => Promise<void>,
) {
	const folder = cachedAt(name);
	if (existsSync(folder)) return folder;
	mkdirSync(CACHE, { recursive: true });
	const draft = `${folder}-${process.pid}`;
	try {
		await install(draft);
		renameSync(draft, folder);
	} catch (error) {
		rmSync(draft, { recursive: true, force: true });
		if (!existsSync(folder)) throw new NotInstalled(reason, { cause: error });
	}
	return folder;
}
