/** `exports download`: downloads the files of a run, and continues where it was interrupted. */
import { createHash } from "node:crypto";
import {
	createReadStream,
	createWriteStream,
	mkdirSync,
	renameSync,
	rmSync,
	statSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Command, Option } from "commander";
import { streams } from "./context.ts";
import { FailedError, UsageError } from "./failure.ts";
import { isObject, json, jsonOption, type Values } from "./output.ts";
import { isScope, pathOf } from "./path.ts";
import { operationOf } from "./run.ts";
import { call, client, list } from "./session.ts";
import type { Group } from "./table.ts";
import { optionOf } from "./values.ts";

const PAGE_SIZE = 1000;

/** How often a transfer may break without receiving anything, and the delay after it. */
const MAX_BREAKS = 5;
const DELAY_MS = 1000;

type File = { name: string; bytes: number; digest: string | null };

const isFile = (value: unknown): value is File =>
	isObject(value) && typeof value.name === "string" && typeof value.bytes === "number";

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

async function digestOf(path: string) {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path), hash);
	return hash.digest("hex");
}

/** Whether a local file is the whole file, as far as one can know. */
const isWhole = async (path: string, { bytes, digest }: File) =>
	sizeOf(path) === bytes && (digest === null || (await digestOf(path)) === digest);

/** Appends the rest of a file to what is there already. The service sends all of it otherwise. */
async function receive(fetchFrom: (from: number) => Promise<unknown>, path: string) {
	const response = await fetchFrom(sizeOf(path));
	if (!(response instanceof Response) || !response.body)
		throw new FailedError("The response isn't a file.");
	const flags = response.status === 206 ? "a" : "w";
	await pipeline(response.body, createWriteStream(path, { flags }));
}

/**
 * Downloads a file to a part beside it, which is renamed when it is complete.
 * @throws {FailedError} if the transfer breaks too often, or the file has another digest
 */
async function download(fetchFrom: (from: number) => Promise<unknown>, path: string, file: File) {
	const part = `${path}.part`;
	if (sizeOf(part) > file.bytes) rmSync(part);
	for (let breaks = 0; sizeOf(part) < file.bytes; ) {
		const before = sizeOf(part);
		try {
			await receive(fetchFrom, part);
		} catch (error) {
			breaks = sizeOf(part) > before ? 1 : breaks + 1;
			// Errors of the service, such as a 404, aren't about the transfer.
			if (error instanceof FailedError || isStatus(error) || breaks >= MAX_BREAKS) throw error;
			await sleep(DELAY_MS);
		}
	}
	if (!(await isWhole(part, file))) {
		rmSync(part);
		throw new FailedError(`${file.name} isn't what the run wrote: the digest differs. Try again.`);
	}
	renameSync(part, path);
}

const isStatus = (error: unknown) => isObject(error) && Number(error.status) > 0;

/** Returns the files of a run, or the one with this name. */
export async function filesOf(group: Group, path: Values, name?: unknown) {
	const files: File[] = [];
	const { method } = operationOf(group, "listRunFiles");
	const parameters = { ...path, limit: PAGE_SIZE };
	for await (const file of list(client(), group.resource, method, parameters))
		if (isFile(file) && (name === undefined || file.name === name)) files.push(file);
	return files;
}

/** Downloads files of a run, except those that are in the folder already. */
export async function save(group: Group, path: Values, files: File[], options: Values) {
	const tenantry = client();
	const folder = String(options.output ?? ".");
	mkdirSync(folder, { recursive: true });
	for (const file of files) {
		// The service's names have no slashes, but a name must never leave the folder.
		if (/[/\\]|^\.\.?$/.test(file.name)) throw new FailedError(`Unsafe name: ${file.name}`);
		const target = join(
			folder,
			process.platform === "win32" ? file.name.replaceAll(":", "_") : file.name,
		);
		const isThere = await isWhole(target, file);
		if (!isThere) {
			const words = (from: number) => [
				{ ...path, name: file.name },
				from > 0 ? { headers: { range: `bytes=${from}-` } } : {},
			];
			const from = (offset: number) =>
				call(tenantry, group.resource, "downloadRunFile", words(offset));
			await download(from, target, file);
		}
		streams().stderr.write(`${target}${isThere ? " is already there" : ""}\n`);
	}
	if (options.json) await json(files);
}

async function run(group: Group, command: Command) {
	const options: Values = command.opts();
	const listing = operationOf(group, "listRunFiles");
	const [id, run_id, name] = command.processedArgs;
	const path = pathOf(listing, [id, run_id], options);
	const files = await filesOf(group, path, name);
	if (files.length === 0)
		throw new UsageError(
			name === undefined
				? "The run has no files. Only complete runs to R2 that wrote rows have some."
				: `The run has no file ${name}. See: tenantry ${group.name} ${listing.name} ${id} ${run_id}`,
		);
	await save(group, path, files, options);
}

export const outputOption = () =>
	new Option("--output <folder>", "where to write the files; the current folder by default");

export function addDownload(parent: Command, group: Group) {
	const command = new Command("download")
		.summary("Download the files of a run")
		.description(
			"Downloads the files that a run wrote to the service's own bucket, and compares their digests. If it is interrupted, run it again: it continues with what is missing. Requires a key that may change exports.",
		)
		.argument("<id>", "The export's id.")
		.argument("<run>", "The run's id.")
		.argument("[name]", "The name of a file. By default all files of the run.");
	for (const field of operationOf(group, "listRunFiles").path.filter(isScope))
		command.addOption(optionOf(field));
	command
		.addOption(outputOption())
		.addOption(jsonOption())
		.addHelpText(
			"after",
			`
Examples:
  $ tenantry ${group.name} download 01a1fee4-ac61-7a85-9f31-6f4a5b7c8d99 \\
      01a1fee4-b3d2-7c11-8a54-0f1e2d3c4b5a --output files`,
		)
		.action(() => run(group, command));
	parent.addCommand(command);
}
