/** The program `tenantry` (docs/cli.md). */
import { account } from "./config.ts";
import { EXIT, report } from "./failure.ts";
import { released } from "./lock.ts";
import { service } from "./oauth.ts";
import { isObject } from "./output.ts";
import { programOf } from "./program.ts";

// A refresh token works once, so the next one is saved first. A second Ctrl-C doesn't wait.
process.once("SIGINT", () => released().then(() => process.exit(EXIT.interrupted)));

/** A program that reads the output, such as `head`, may close the pipe early. */
process.stdout.on("error", (error) => {
	process.exit(isObject(error) && error.code === "EPIPE" ? 0 : report(error, ""));
});

function urlForErrors() {
	try {
		return service.url ?? account().url;
	} catch {
		return "the service";
	}
}

try {
	await programOf().parseAsync();
} catch (error) {
	process.exitCode = report(error, urlForErrors());
}
