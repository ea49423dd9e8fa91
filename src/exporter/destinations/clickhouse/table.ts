import * as z from "zod";
import type { Kind } from "../../query/expression.ts";
import type { Column, Model } from "../../rows.ts";
import { Misconfigured } from "../destination.ts";
import { addressOf } from "../send.ts";
import {
	type Client,
	check,
	codeOf,
	quoted,
	type Settings,
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

/** The column that decides between rows with the same key: the highest value wins. Without one, the last row wins. */
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

/** Returns the settings that the types need. Without this setting, ClickHouse rejects JSON with a repeated key. */
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
	throw new Misconfigured(`${addressOf(new URL(config.url))} doesn't respond like ClickHouse.`);
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
