import * as z from "zod";
import { MisconfiguredError } from "../../../../outbound/errors.ts";
import { addressOf } from "../../../../outbound/send.ts";
import type { Kind } from "../../query/expression.ts";
import type { Column, Model } from "../../rows.ts";
import {
	type Client,
	check,
	codeOf,
	literal,
	quoted,
	type Settings,
	tableNameOf,
	tableOf,
	UNKNOWN_TABLE,
} from "./client.ts";

/** The types of columns in a created table. */
const TYPES: Record<Kind, string> = {
	text: "String",
	json: "String",
	integer: "Int64",
	number: "Float64",
	boolean: "Bool",
	date: "Date32",
	timestamp: "DateTime64(6, 'UTC')",
};

/** The key of rows. */
const KEYS: Record<Model, string[]> = {
	events: ["team_id", "uuid"],
	persons: ["team_id", "distinct_id"],
};

/** The column that decides between rows with the same key; without one, the last row wins. */
const VERSIONS: Record<Model, string> = {
	events: "",
	persons: "person_version",
};

function createTable(config: Settings, columns: Column[], model: Model) {
	const [key, version] = [KEYS[model], VERSIONS[model]];
	const definitions = columns.map(({ name, kind }) => {
		const required = name === version || key.includes(name);
		return `${quoted(name)} ${required ? TYPES[kind] : `Nullable(${TYPES[kind]})`}`;
	});
	return `CREATE TABLE IF NOT EXISTS ${tableOf(config)} (${definitions.join(", ")})
		ENGINE = ReplacingMergeTree(${version && quoted(version)}) ORDER BY (${key.map(quoted).join(", ")})`;
}

/** The type of each column, by name. */
export type ColumnTypes = Map<string, string>;

/** Returns settings for the types: by default, JSON with a repeated key is rejected. */
export const settingsFor = (types: ColumnTypes): Record<string, string> =>
	types.values().some((type) => /\bJSON\b/.test(type))
		? { type_json_skip_duplicated_paths: "1" }
		: {};

const NameAndType = z.tuple([z.string(), z.string()]).rest(z.unknown());

/** Parses a line of a response; null if the line is incomplete. */
function parseLine(line: string) {
	try {
		return NameAndType.safeParse(JSON.parse(line)).data ?? null;
	} catch {
		return null;
	}
}

/** Returns the types of the table's columns; null if the table doesn't exist. */
export async function findTable({ ask }: Client, config: Settings): Promise<ColumnTypes | null> {
	const answer = await ask(`DESCRIBE TABLE ${tableOf(config)} FORMAT JSONCompactEachRow`);
	if (codeOf(answer) === UNKNOWN_TABLE) return null;
	const lines = check(answer, config).text.split("\n").map(parseLine);
	const types = new Map(lines.filter((line) => line !== null).map(([name, type]) => [name, type]));
	if (types.size > 0) return types;
	throw new MisconfiguredError(
		`${addressOf(new URL(config.url))} doesn't respond like ClickHouse.`,
	);
}

/** The first row of a query, as texts; empty if the query fails or has no rows. */
async function firstRow({ ask }: Client, query: string): Promise<string[]> {
	const answer = await ask(`${query} FORMAT JSONCompactEachRow`);
	if (codeOf(answer) !== undefined) return [];
	return parseLine(answer.text.split("\n")[0] ?? "")?.map(String) ?? [];
}

/** Whether the engine removes rows with the same key, or ignores repeated inserts. */
async function storesOnce(client: Client, engine: string, definition: string) {
	if (engine.endsWith("ReplacingMergeTree")) return true;
	if (!engine.endsWith("MergeTree")) return false;
	const isReplicated = /^(?:Replicated|Shared)/.test(engine);
	const setting = `${isReplicated ? "replicated" : "non_replicated"}_deduplication_window`;
	const own = definition.matchAll(/\b(\w+) = (\d+)/g).find(([, name]) => name === setting)?.[2];
	const [, byDefault = isReplicated ? "1" : "0"] = await firstRow(
		client,
		`SELECT name, value FROM system.merge_tree_settings WHERE name = ${literal(setting)}`,
	);
	return Number(own ?? byDefault) > 0;
}

/**
 * Returns a warning if the table may get rows twice when an insert is repeated because its response
 * was lost; null if it doesn't, or if the server doesn't tell.
 */
export async function repetitionWarning(client: Client, config: Settings): Promise<string | null> {
	const name = tableNameOf(config);
	const [engine, definition = ""] = await firstRow(
		client,
		`SELECT engine, engine_full FROM system.tables WHERE database = currentDatabase() AND name = ${literal(name)}`,
	);
	if (engine === undefined || (await storesOnce(client, engine, definition))) return null;
	return `The table ${tableOf(config)} (${engine}) keeps rows that are inserted twice, which happens when the response to an insert is lost. Use a ReplacingMergeTree or a replicated table, or set non_replicated_deduplication_window.`;
}

/** Creates the table if it doesn't exist. */
export async function ensureTable(
	client: Client,
	config: Settings,
	columns: Column[],
	model: Model,
): Promise<ColumnTypes> {
	const found = await findTable(client, config);
	if (found) return found;
	await client.run(createTable(config, columns, model));
	return (await findTable(client, config)) ?? new Map();
}
