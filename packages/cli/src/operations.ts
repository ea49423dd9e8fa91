/** Defines the commands that call one operation of the API. */
import { Argument, Command, Option } from "commander";
import { streams } from "./context.ts";
import { addDownload } from "./download.ts";
import { examplesOf } from "./examples.ts";
import { UsageError } from "./failure.ts";
import { follow, intervalOption } from "./follow.ts";
import { GROUPS } from "./generated.ts";
import { addOnce } from "./once.ts";
import { json, jsonOption, line, record, table, type Values } from "./output.ts";
import { isScope, pathOf, takesAlias } from "./path.ts";
import { canAsk, confirm } from "./prompt.ts";
import { addFailed, isRetry, retryAll } from "./retry.ts";
import { addRun } from "./run.ts";
import { call, client, list, type Pages } from "./session.ts";
import type { Group, Command as Operation } from "./table.ts";
import { bodyOf, flagOf, given, optionOf } from "./values.ts";

/** The page size of `--all`. */
const PAGE_SIZE = 1000;

/**
 * Returns the body fields that have options. `--organization` and `--project` are always part of
 * the path.
 */
const bodyOptions = ({ body = [], path }: Operation) =>
	body.filter(({ name }) => !path.some((field) => isScope(field) && field.name === name));

function addOptions(command: Command, operation: Operation) {
	for (const field of operation.path)
		if (isScope(field)) command.addOption(optionOf(field));
		else
			command.addArgument(
				new Argument(
					takesAlias(operation, field) || isRetry(operation)
						? `[${field.name}]`
						: `<${field.name}>`,
					takesAlias(operation, field) ? `${field.help} (default: ${field.alias})` : field.help,
				),
			);
	for (const field of operation.query) command.addOption(optionOf(field));
	if (operation.columns)
		command.addOption(
			new Option("--all", "print all pages; with --json, one object per line").conflicts([
				"limit",
				"offset",
			]),
		);
	if (operation.columns) command.addOption(columnsOption());
	for (const field of bodyOptions(operation))
		command.addOption(
			optionOf(field.isRequired ? { ...field, help: `${field.help} Required.` } : field),
		);
	if (operation.body) command.option("--data <json>", "the body: JSON, @file, or - for stdin");
	if (operation.verb === "DELETE") command.option("-y, --yes", "don't ask for confirmation");
	if (operation.hasReceipt) command.option("--receipt", "print a signed receipt of what has ended");
	command.addOption(jsonOption());
}

/** The options of a list. */
type Listing = Values & { columns?: string[] };

/** The fields to print, by their names in the API, with dots between nested ones. */
const columnsOption = () =>
	new Option(
		"--columns <fields>",
		"the columns, such as id,created_by.email: fields of the API, with dots between nested ones",
	)
		.argParser((text) => text.split(",").map((field) => field.trim()))
		.conflicts("json");

async function printPages(pages: Pages, columns: string[], options: Listing) {
	if (!options.all) {
		const page = await pages;
		if (options.json) return json(page);
		await table(page.results, columns, options.columns);
		if (page.results.length === 0) streams().stderr.write("No results.\n");
		else if (page.next !== null)
			streams().stderr.write(`${page.results.length} of ${page.count}; to print all, add --all.\n`);
		return;
	}
	const items: unknown[] = [];
	for await (const item of pages) {
		if (options.json) await line(item);
		else items.push(item);
	}
	if (!options.json) await table(items, columns, options.columns);
}

/** @throws {UsageError} if nobody agrees */
async function consent(command: Command, path: Values) {
	const words = Object.values(path).join(" ");
	const what = `${command.parent?.name()} ${command.name()} ${words}`;
	if (!canAsk())
		throw new UsageError(`Without a terminal, ${what} requires --yes. Nothing was changed.`);
	if (!(await confirm(`Really ${what}?`))) throw new UsageError("Nothing was changed.");
}

const isLog = ({ name, columns }: Operation) => columns !== undefined && name.endsWith("logs");

/** Returns the options that a command without a body lacks. */
function lacking(operation: Operation) {
	const fields = bodyOptions(operation);
	const [first] = fields;
	if (!first) return "--data";
	const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => flagOf(name));
	return `${required.join(", ") || `at least one option, such as ${flagOf(first.name)}`} (or --data)`;
}

async function run(group: Group, operation: Operation, command: Command) {
	const options: Listing = command.opts();
	const path = pathOf(operation, command.processedArgs, options);
	const body = operation.body && bodyOf(bodyOptions(operation), options);
	if (operation.needsBody && body === undefined)
		throw new UsageError(
			`${group.name} ${operation.name} requires ${lacking(operation)}. See: tenantry ${group.name} ${operation.name} --help`,
		);
	if (isRetry(operation) && command.processedArgs[0] === undefined)
		return retryAll(group, { operation, body }, options);
	if (operation.verb === "DELETE" && !options.yes) await consent(command, path);
	const tenantry = client(!operation.isPublic);
	if (operation.columns) {
		const size = options.all ? { limit: PAGE_SIZE } : {};
		const parameters = { ...size, ...given(operation.query, options), ...path };
		const read = (more: Values) =>
			list(tenantry, group.resource, operation.method, { ...parameters, ...more });
		if (options.follow) return follow(read, operation.columns, options);
		return printPages(read({}), operation.columns, options);
	}
	const words = [
		...(operation.path.length > 0 ? [path] : []),
		...(operation.body ? [body] : []),
		...(options.receipt ? [{ receipt: true }] : []),
	];
	const answer = await call(tenantry, group.resource, operation.method, words);
	if (answer === undefined) return;
	if (options.json) return json(answer);
	return record(answer);
}

function commandOf(group: Group, operation: Operation) {
	const command = new Command(operation.name)
		.summary(operation.summary)
		.description(operation.description);
	addOptions(command, operation);
	command.addHelpText("after", examplesOf(group, operation));
	if (isRetry(operation)) addFailed(command, group);
	if (isLog(operation))
		command
			.addOption(
				new Option("--follow", "print new entries until Ctrl-C").conflicts([
					...["all", "offset", "before"],
				]),
			)
			.addOption(intervalOption());
	return command.action(() => run(group, operation, command));
}

export function addOperations(program: Command) {
	for (const group of GROUPS) {
		const parent = program
			.command(group.name)
			.helpGroup(`${group.topic}:`)
			.description(group.description);
		for (const operation of group.commands) parent.addCommand(commandOf(group, operation));
		if (group.name.endsWith("exports")) {
			addRun(parent, group);
			addDownload(parent, group);
			addOnce(parent, group);
		}
		parent.summary(parent.commands.map((command) => command.name()).join(", "));
	}
}
