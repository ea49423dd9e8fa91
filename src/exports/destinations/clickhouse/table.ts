import * as z from "zod";
import { jsonOf } from "../../../lib/json.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { addressOf, unavailable } from "../../../outbound/send.ts";
import type { Kind } from "../../query/expression.ts";
import { type Column, type Model, PRIMARY_KEYS } from "../../query/rows.ts";
import type { Limit } from "../fit/fitter.ts";
import {
	type Client,
	check,
	codeOf,
	literal,
	quoted,
	tableNameOf,
	tableOf,
	UNKNOWN_TABLE,
} from "./client.ts";
import type { Settings } from "./definition.ts";
import { fitOf, holdsNull, NEW_TIMES, OLD_TIMES, type Times } from "./fits.ts";

const TYPES: Record<Kind, string> = {
	text: "String",
	json: "String",
	integer: "Int64",
	number: "Float64",
	boolean: "Bool",
	date: "Date32",
	timestamp: "DateTime64(6, 'UTC')",
};

const KEYS: Record<Model, string[]> = { ...PRIMARY_KEYS, events: ["team_id", "uuid"] };

/** The column whose highest value wins among rows with the same key; else the last row wins. */
const VERSIONS: Record<Model, string> = { events: "", persons: "person_version" };

function createTable(config: Settings, columns: Column[], model: Model) {
	const [key, version] = [KEYS[model], VERSIONS[model]];
	const definitions = columns.map(({ name, kind }) => {
		const required = name === version || key.includes(name);
		return `${quoted(name)} ${required ? TYPES[kind] : `Nullable(${TYPES[kind]})`}`;
	});
	return `CREATE TABLE IF NOT EXISTS ${tableOf(config)} (${definitions.join(", ")})
		ENGINE = ReplacingMergeTree(${version && quoted(version)}) ORDER BY (${key.map(quoted).join(", ")})`;
}

export type ColumnTypes = Map<string, string>;

/** Without them, ClickHouse rejects a repeated key, and makes times of texts, and 1 of true. */
const JSON_SETTINGS = {
	type_json_skip_duplicated_paths: "1",
	input_format_try_infer_dates: "0",
	input_format_try_infer_datetimes: "0",
	input_format_json_read_bools_as_numbers: "0",
};

/** The settings that the types need. */
export const settingsFor = (types: ColumnTypes): Record<string, string> =>
	types.values().some((type) => /\b(?:JSON|Dynamic|Variant)\b/.test(type)) ? JSON_SETTINGS : {};

const NameAndType = z.tuple([z.string(), z.string()]).rest(z.unknown());

/** Parses a line of a response; null if the line is incomplete. */
const parseLine = (line: string) => NameAndType.safeParse(jsonOf(line)).data ?? null;

/** Returns the types of the table's columns; null if the table doesn't exist. */
export async function findTable({ ask }: Client, config: Settings): Promise<ColumnTypes | null> {
	const response = await ask(`DESCRIBE TABLE ${tableOf(config)} FORMAT JSONCompactEachRow`);
	if (codeOf(response) === UNKNOWN_TABLE) return null;
	const lines = check(response, config).text.trimEnd().split("\n").map(parseLine);
	const types = new Map(lines.filter((line) => line !== null).map(([name, type]) => [name, type]));
	// Values of a column whose type is missing wouldn't be checked.
	if (types.size > 0 && (response.isCut || lines.includes(null)))
		throw unavailable(response, "The response doesn't have all columns of the table.");
	if (types.size > 0) return types;
	throw new MisconfiguredError(
		`${addressOf(new URL(config.url))} doesn't respond like ClickHouse.`,
	);
}

/** The first row of a query, as texts; empty if the query fails or has no rows. */
async function firstRow({ ask }: Client, query: string): Promise<string[]> {
	const response = await ask(`${query} FORMAT JSONCompactEachRow`);
	if (codeOf(response) !== undefined) return [];
	return parseLine(response.text.split("\n")[0] ?? "")?.map(String) ?? [];
}

const A_TIME_BEFORE_1970 = "1969-12-31T23:59:58.500";

/** Asks how the server reads times. */
async function timesOf(client: Client): Promise<Times> {
	const [year, fraction] = await firstRow(
		client,
		`SELECT toYear(toDate32('1000-01-01')), toString(parseDateTime64BestEffort('${A_TIME_BEFORE_1970}Z', 3, 'UTC'))`,
	);
	return {
		years: year === "1000" ? NEW_TIMES.years : OLD_TIMES.years,
		readsFractions: fraction === A_TIME_BEFORE_1970.replace("T", " "),
	};
}

/** Returns what the columns of a table hold. */
export async function limitsOf(
	client: Client,
	columns: Column[],
	types: ColumnTypes,
): Promise<Map<string, Limit>> {
	const hasTimes = types.values().some((type) => /Date(?:32|Time64)/.test(type));
	const times = hasTimes ? await timesOf(client) : NEW_TIMES;
	return new Map(
		columns.flatMap(({ name, kind }) => {
			const type = types.get(name);
			if (type === undefined) return [];
			return [[name, { type, isNullable: holdsNull(type), fit: fitOf(type, kind, times) }]];
		}),
	);
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

/** Returns a warning if a repeated insert may store rows twice; null if not, or if unknown. */
export async function repetitionWarning(client: Client, config: Settings): Promise<string | null> {
	const name = tableNameOf(config);
	const [engine, definition = ""] = await firstRow(
		client,
		`SELECT engine, engine_full FROM system.tables WHERE database = currentDatabase() AND name = ${literal(name)}`,
	);
	if (engine === undefined || (await storesOnce(client, engine, definition))) return null;
	return `The table ${tableOf(config)} (${engine}) keeps rows that are inserted twice, which happens when the response to an insert is lost. Use a ReplacingMergeTree or a replicated table, or set non_replicated_deduplication_window.`;
}

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
