/** `exports once`: exports a range once, and downloads its files. */
import { Command } from "commander";
import { streams } from "./context.ts";
import { filesOf, outputOption, save } from "./download.ts";
import { FailedError } from "./failure.ts";
import { intervalOption, pause } from "./follow.ts";
import { isObject, json, jsonOption, type Values } from "./output.ts";
import { isScope, pathOf } from "./path.ts";
import { operationOf } from "./run.ts";
import { call, client } from "./session.ts";
import type { Field, Group } from "./table.ts";
import { given, optionOf } from "./values.ts";

/** Shorter names of the fields, and of the formats. */
const NAMES: Record<string, string> = {
	start_at: "after",
	end_at: "before",
	file_format: "format",
	xql_query: "query",
};
const FORMATS: Record<string, string> = { csv: "CSV", jsonl: "JSONLines", parquet: "Parquet" };

/** Returns the option of a field, with its name here. */
function named(field: Field): Field {
	const { [field.name]: name = field.name } = NAMES;
	if (name.endsWith("_events")) return { ...field, kind: "strings" };
	const help = "The format of the files; jsonl by default.";
	return name === "format"
		? { ...field, name, help, choices: Object.keys(FORMATS) }
		: { ...field, name };
}

function bodyOf(fields: Field[], options: Values) {
	const values = given(fields.map(named), options);
	const { format } = values;
	if (typeof format === "string") values.format = FORMATS[format.toLowerCase()] ?? format;
	return Object.fromEntries(
		fields.flatMap((field) => {
			const value = values[named(field).name];
			return value === undefined ? [] : [[field.name, value]];
		}),
	);
}

/** Waits until the run has ended, and prints its progress. */
async function watch(read: () => Promise<unknown>, options: Values) {
	for (let shown = ""; ; await pause(options)) {
		const run = await read();
		if (!isObject(run)) throw new FailedError("The response isn't a run.");
		const total = run.records_total_count === null ? "" : ` of ${run.records_total_count}`;
		const text = `${run.status}: ${run.records_completed}${total} rows`;
		if (text !== shown) streams().stderr.write(`${text}\n`);
		shown = text;
		if (run.finished_at === null) continue;
		if (run.status === "Completed") return;
		throw new FailedError(`The export ended as ${run.status}: ${run.latest_error}`);
	}
}

async function once(group: Group, command: Command) {
	const options: Values = command.opts();
	const start = operationOf(group, "runOnce");
	const scope = pathOf(start, [], options);
	const tenantry = client();
	const body = bodyOf(start.body ?? [], options);
	const begun = await call(tenantry, group.resource, start.method, [scope, body]);
	if (!isObject(begun)) throw new FailedError("The response isn't a run.");
	const path = { ...scope, id: begun.batch_export, run: begun.id };
	await watch(() => call(tenantry, group.resource, "getRun", [path]), options);
	const files = await filesOf(group, path);
	if (files.length === 0) streams().stderr.write("There are no rows in this range.\n");
	if (files.length > 0) await save(group, path, files, options);
	else if (options.json) await json(files);
}

export function addOnce(parent: Command, group: Group) {
	const { path, body = [] } = operationOf(group, "runOnce");
	const command = new Command("once")
		.summary("Export a range once, and download it")
		.description(
			"Exports a range without setting up an export, waits until it is complete, and downloads the files, which the service keeps for seven days. Requires a key that may change exports.",
		);
	for (const field of path.filter(isScope)) command.addOption(optionOf(field));
	for (const field of body)
		command.addOption(optionOf(named(field)).makeOptionMandatory(field.isRequired === true));
	command
		.addOption(outputOption())
		.addOption(intervalOption())
		.addOption(jsonOption())
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry ${group.name} once --after -7d --format csv
  $ tenantry ${group.name} once --after 2026-01-01T00:00:00Z --before 2026-02-01T00:00:00Z \\
      --format parquet --output files`,
		)
		.action(() => once(group, command));
	parent.addCommand(command);
}
