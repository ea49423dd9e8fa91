/** `exports run`: starts a backfill and watches it. */
import { Command } from "commander";
import { streams } from "./context.ts";
import { FailedError } from "./failure.ts";
import { intervalOption, pause } from "./follow.ts";
import { isObject, json, jsonOption, record, type Values } from "./output.ts";
import { isScope, pathOf } from "./path.ts";
import { call, client } from "./session.ts";
import type { Group } from "./table.ts";
import { optionOf } from "./values.ts";

export const operationOf = ({ name, commands }: Group, method: string) => {
	const operation = commands.find((command) => command.method === method);
	if (!operation) throw new Error(`${name} has no ${method}.`);
	return operation;
};

const progress = ({ finished_runs, total_runs, failed_runs }: Values) =>
	`${finished_runs} of ${total_runs} windows exported${Number(failed_runs) > 0 ? `, ${failed_runs} failed` : ""}`;

/** Waits until a backfill ends, and prints its progress. */
async function watch(read: () => Promise<Values>, options: Values) {
	let shown = "";
	while (true) {
		const backfill = await read();
		const text = progress(backfill);
		if (text !== shown) streams().stderr.write(`${text}\n`);
		shown = text;
		if (backfill.status !== "Running") return backfill;
		await pause(options);
	}
}

async function run(group: Group, command: Command) {
	const options: Values = command.opts();
	const start = operationOf(group, "backfill");
	const path = pathOf(start, command.processedArgs, options);
	const { startAt: start_at, endAt: end_at, by } = options;
	const tenantry = client();
	const range = { start_at, end_at, by };
	const body = Object.values(range).some((value) => value !== undefined) ? range : undefined;
	const answer = await call(tenantry, group.resource, "backfill", [path, body]);
	const id = isObject(answer) ? answer.backfill_id : undefined;
	const read = async () => {
		const words = [{ ...path, backfill: id }];
		const backfill = await call(tenantry, group.resource, "getBackfill", words);
		return isObject(backfill) ? backfill : {};
	};
	const backfill = await (options.watch ? watch(read, options) : read());
	await (options.json ? json(backfill) : record(backfill));
	if (options.watch && (backfill.status !== "Completed" || Number(backfill.failed_runs) > 0))
		throw new FailedError(
			backfill.status === "Completed"
				? `${backfill.failed_runs} of ${backfill.total_runs} windows failed. To see the errors, run: tenantry ${group.name} runs ${path.id}`
				: `The backfill ended with the status ${backfill.status}.`,
		);
}

export function addRun(parent: Command, group: Group) {
	const start = operationOf(group, "backfill");
	const command = new Command("run")
		.summary("Export a range now")
		.description(
			"Exports all windows within the range. Without a range, exports the last complete window. With --watch, waits until the range is exported, and fails if a window fails.",
		)
		.argument("<id>", "The export's id.");
	for (const field of start.path.filter(isScope)) command.addOption(optionOf(field));
	for (const field of start.body ?? [])
		if (["start_at", "end_at", "by"].includes(field.name)) command.addOption(optionOf(field));
	command
		.option("--watch", "wait until the range is exported")
		.addOption(intervalOption())
		.addOption(jsonOption())
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry ${group.name} run 01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99 --watch
  $ tenantry ${group.name} run 01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99 \\
      --start-at 2026-01-01T00:00:00Z --end-at 2026-01-04T00:00:00Z --watch`,
		)
		.action(() => run(group, command));
	parent.addCommand(command);
}
