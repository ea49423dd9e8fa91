import { execFileSync } from "node:child_process";

/** Keeps wrangler offline: no updates, no statistics, no look-up of this machine's place. */
const offline = {
	CLOUDFLARE_CF_FETCH_ENABLED: "false",
	WRANGLER_HIDE_BANNER: "true",
	WRANGLER_SEND_METRICS: "false",
};
export const environment: NodeJS.ProcessEnv = { ...process.env, ...offline };

/** Ends the script with a word to the person who called it. */
export function fail(why: string): never {
	console.error(why);
	process.exit(1);
}

/** What the command printed. Where it fails, the script ends with all that the command said. */
export function run(command: string, ...words: string[]) {
	try {
		return execFileSync(command, words, {
			env: environment,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "pipe"],
		});
	} catch (error) {
		const { stdout = "", stderr = "" } =
			error instanceof Error ? { stdout: "", stderr: "", ...error } : {};
		return fail(`${command} ${words.join(" ")} failed:\n${stdout}${stderr}`);
	}
}
