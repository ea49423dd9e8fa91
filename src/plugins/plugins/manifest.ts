import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { atMostBytes, longText, rawText, record, text } from "../../http/fields.ts";
import { json } from "../../http/json_value.ts";
import { parseUnrounded } from "../../lib/lossless_json.ts";
import { BROWSER_FILES } from "../compiler/file_names.ts";
import { MAX_PATH_LENGTH } from "./archive.ts";
import {
	configSchemaInput,
	MAX_DESCRIPTION_BYTES,
	MAX_ICON_BYTES,
	MAX_JSON_BYTES,
} from "./shape.ts";

const Plugin = z.object({
	name: text(200).nullish(),
	description: longText(MAX_DESCRIPTION_BYTES).nullish(),
	icon: longText(MAX_ICON_BYTES).nullish(),
	main: rawText(MAX_PATH_LENGTH).nullish(),
	config: configSchemaInput().nullish(),
	publicJobs: record(json()).check(atMostBytes(MAX_JSON_BYTES)).nullish(),
});

/** Where the main file can be if plugin.json doesn't say it. Source comes before build output. */
const MAIN_PATHS = ["index.js", "index.ts", "dist/index.js"];

/**
 * Reads plugin.json from a plugin's files. `main` is the path of an existing file; null if the
 * plugin only has files for browsers.
 * @throws 400 if plugin.json is missing or invalid, or if the main file is missing
 */
export function manifest(files: ReadonlyMap<string, string>) {
	const text = files.get("plugin.json");
	if (text === undefined) throw invalid(null, "Could not find plugin.json in the plugin");
	const { data, error } = Plugin.safeParse(parseJson(text));
	if (error) {
		const [issue] = error.issues;
		const where = ["plugin.json", ...(issue?.path ?? [])].join(".");
		throw invalid(null, `Could not read ${where}: ${issue?.message}`);
	}
	return {
		name: data.name ?? "",
		description: data.description ?? "",
		icon: data.icon ?? null,
		main: mainOf(files, data.main),
		config_schema: data.config ?? [],
		public_jobs: data.publicJobs ?? {},
	};
}

function parseJson(text: string): unknown {
	try {
		return parseUnrounded(text);
	} catch (error) {
		throw invalid(null, `Could not read plugin.json: ${error}`);
	}
}

function mainOf(files: ReadonlyMap<string, string>, stated: string | null | undefined) {
	if (stated) {
		const path = stated.replace(/^(\.?\/)+/, "");
		if (files.has(path)) return path;
		throw invalid(null, `Could not find main file ${stated} in plugin`);
	}
	const main = MAIN_PATHS.find((path) => files.has(path));
	if (main === undefined && !BROWSER_FILES.some((path) => files.has(path)))
		throw invalid(null, "Could not find main file index.js or index.ts in plugin");
	return main ?? null;
}
