/** The program `tenantry` (docs/cli.md). */
import { ofProcess } from "./context.ts";
import { EXIT, report } from "./failure.ts";
import { released } from "./lock.ts";
import { isObject } from "./output.ts";
import { tenantry } from "./tenantry.ts";

// A refresh token works once, so the next one is saved first. A second Ctrl-C doesn't wait.
process.once("SIGINT", () => released().then(() => process.exit(EXIT.interrupted)));

/** A program that reads the output, such as `head`, may close the pipe early. */
process.stdout.on("error", (error) => {
	process.exit(isObject(error) && error.code === "EPIPE" ? 0 : report(error, ""));
});

process.exitCode = await tenantry(process.argv.slice(2), ofProcess);
