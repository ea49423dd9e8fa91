/** `exports retry --failed`: exports what any export hasn't delivered. */
import type { Command } from "commander";
import { FailedError, UsageError } from "./failure.ts";
import { isObject, json, table, type Values } from "./output.ts";
import { pathOf } from "./path.ts";
import { call, client, list } from "./session.ts";
import type { Group, Command as Operation } from "./table.ts";

const PAGE_SIZE = 1000;

/** Whether a command can be about all exports, without an id. */
export const isRetry = ({ method, path }: Operation) =>
	method === "retry" && path.at(-1)?.name === "id";

/** Adds the option, and an example. */
export const addFailed = (command: Command, { name }: Group) =>
	command
		.option("--failed", "without an id: all exports that haven't delivered something")
		.addHelpText("after", `  $ tenantry ${name} retry --failed`);

/**
 * Retries each export that has windows which weren't delivered, one after another. Errors of one
 * don't stop the others.
 * @throws {FailedError} if one of them couldn't be retried
 */
export async function retryAll(
	group: Group,
	{ operation, body }: { operation: Operation; body: unknown },
	options: Values,
) {
	if (!options.failed)
		throw new UsageError(
			`${group.name} retry requires the id of an export, or --failed for all. See: tenantry ${group.name} retry --help`,
		);
	const scope = pathOf({ ...operation, path: operation.path.slice(0, -1) }, [], options);
	const tenantry = client();
	const rows: Values[] = [];
	for await (const found of list(tenantry, group.resource, "list", {
		...scope,
		limit: PAGE_SIZE,
	})) {
		if (!isObject(found) || !isObject(found.undelivered)) continue;
		const { id, name } = found;
		const retried = await call(tenantry, group.resource, "retry", [{ ...scope, id }, body]).catch(
			(error: Error) => ({ error: error.message }),
		);
		rows.push({ id, name, ...(isObject(retried) && retried) });
	}
	await (options.json ? json(rows) : table(rows, ["id", "name", "windows", "waiting", "error"]));
	const failed = rows.filter(({ error }) => error !== undefined);
	if (failed.length > 0)
		throw new FailedError(`${failed.length} of ${rows.length} exports couldn't be retried.`);
}
