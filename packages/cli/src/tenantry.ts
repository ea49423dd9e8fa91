/** Runs the command line. */
import { account } from "./config.ts";
import { type Context, context, runIn } from "./context.ts";
import { report } from "./failure.ts";
import { programOf } from "./program.ts";

function urlForErrors() {
	try {
		return context().service ?? account().url;
	} catch {
		return "the service";
	}
}

/** Runs a command, and returns its exit code. */
export const tenantry = (words: string[], own: Context) =>
	runIn(own, async () => {
		try {
			await programOf().parseAsync(words, { from: "user" });
			return 0;
		} catch (error) {
			return report(error, urlForErrors());
		}
	});
