import { MisconfiguredError } from "../../../outbound/errors.ts";
import type { Kind } from "../../query/expression.ts";
import { type Column, PRIMARY_KEYS, type Row } from "../../query/rows.ts";
import type { Job } from "../destination.ts";
import type { Limit } from "../fit/fitter.ts";
import type { Fields } from "./client.ts";
import type { Settings } from "./definition.ts";
import { fitOf } from "./fits.ts";

/** The types of columns in a created table. JSON is a STRING unless `use_json_type` is set. */
const TYPES: Record<Kind, string> = {
	text: "STRING",
	json: "STRING",
	integer: "INT64",
	number: "FLOAT64",
	boolean: "BOOL",
	date: "DATE",
	timestamp: "TIMESTAMP",
};

/** The SQL names of types that the API names differently. */
const SQL_NAMES: Record<string, string> = { INTEGER: "INT64", FLOAT: "FLOAT64", BOOLEAN: "BOOL" };

export const tableFields = (columns: Column[], config: Settings): Fields =>
	columns.map(({ name, kind }) => ({
		name,
		type: kind === "json" && config.use_json_type ? "JSON" : TYPES[kind],
	}));

/** The column of a staging table with the number of the row in its run. */
const ROW_NUMBER = "n";

/** The name of a staging table's column. Names of fields can be any text. */
const staged = (i: number) => `c${i}`;

/**
 * Returns the columns of a staging table. All values are text, so that no value makes a load fail.
 * The MERGE converts them.
 * @param columns the columns of the export
 */
export const stagingFields = (columns: Column[]): Fields => [
	{ name: ROW_NUMBER, type: "INT64" },
	...columns.map((_, i) => ({ name: staged(i), type: "STRING" })),
];

/** Replaces lone surrogates, which UTF-8 can't encode, and NUL, which not all readers accept. */
const storable = (text: string) => text.toWellFormed().replaceAll("\0", "\ufffd");

/** Writes rows, one JSON object per line. `first` is the number of the first row. */
export function toLines(rows: Row[], first: number) {
	const lines = rows.map((row, number) => {
		const values = row.map((value, i) =>
			value === null ? "" : `,"${staged(i)}":${JSON.stringify(storable(String(value)))}`,
		);
		return `{"${ROW_NUMBER}":${first + number}${values.join("")}}\n`;
	});
	return Buffer.from(lines.join(""));
}

const quoted = (name: string) => `\`${name.replace(/[\\`]/g, (character) => `\\${character}`)}\``;

const tableName = ({ project_id, dataset_id }: Settings, table: string) =>
	[project_id, dataset_id, table].map(quoted).join(".");

/** SQL that converts a staged value, which fits the type, to it. */
function converted(text: string, kind: Kind, type: string) {
	if (type === "STRING") return text;
	if (type !== "JSON") return `CAST(${text} AS ${type})`;
	// Text that isn't JSON becomes a JSON string.
	if (kind === "json")
		return `IF(${text} IS NULL, NULL, COALESCE(SAFE.PARSE_JSON(${text}), TO_JSON(${text})))`;
	const value = TYPES[kind] === "STRING" ? text : `CAST(${text} AS ${TYPES[kind]})`;
	return `IF(${text} IS NULL, NULL, TO_JSON(${value}))`;
}

/** Returns what the columns of a table hold. */
export const limitsOf = (columns: Column[], fields: Fields): Map<string, Limit> => {
	const byName = new Map(fields.map((field) => [field.name.toLowerCase(), field]));
	return new Map(
		columns.flatMap(({ name, kind }) => {
			const field = byName.get(name.toLowerCase());
			if (field === undefined) return [];
			const { precision, scale, maxLength } = field;
			const parameters = [precision ?? maxLength, scale].filter((one) => one !== undefined);
			const type = parameters.length > 0 ? `${field.type}(${parameters.join(", ")})` : field.type;
			return [[name, { type, isNullable: field.mode !== "REQUIRED", fit: fitOf(field, kind) }]];
		}),
	);
};

function withTypes(columns: Column[], fields: Fields, table: string) {
	const types = new Map(fields.map(({ name, type }) => [name.toLowerCase(), type]));
	return columns.map(({ name, kind }) => {
		const type = types.get(name.toLowerCase());
		if (type === undefined)
			throw new MisconfiguredError(
				`The table ${table} lacks the column ${name}, which the export writes.`,
			);
		return { name, kind, type: SQL_NAMES[type] ?? type };
	});
}

const VERSION = "person_version";

/**
 * Returns the MERGE of a staging table into a table. It uses the last of the events with the same
 * key, and the highest version of a person. This replaces the row with the same key in the table,
 * unless that row is a newer version of the person.
 * @param fields the table's columns
 * @param isTest whether to merge no rows
 */
export function mergeStatement(
	config: Settings,
	{ columns, model }: Pick<Job, "columns" | "model">,
	tables: { staging: string; table: string; fields: Fields },
	isTest = false,
) {
	const { staging, table, fields } = tables;
	const values = withTypes(columns, fields, `${config.dataset_id}.${table}`);
	const at = (name: string) => columns.findIndex((column) => column.name === name);
	const key = PRIMARY_KEYS[model];
	const version = model === "persons" ? at(VERSION) : -1;
	const order = [
		...(version >= 0 ? [`CAST(${staged(version)} AS INT64) DESC`] : []),
		`${ROW_NUMBER} DESC`,
	];
	const isNewer =
		version >= 0 ? ` AND (T.${VERSION} IS NULL OR S.v${version} >= T.${VERSION})` : "";
	const changes = columns.flatMap(({ name }, i) =>
		key.includes(name) ? [] : [`${quoted(name)} = S.v${i}`],
	);
	const update =
		changes.length > 0 ? `WHEN MATCHED${isNewer} THEN UPDATE SET ${changes.join(", ")}` : "";
	return `MERGE ${tableName(config, table)} T
USING (
SELECT ${values.map(({ kind, type }, i) => `${converted(staged(i), kind, type)} AS v${i}`).join(", ")}
FROM ${tableName(config, staging)}
WHERE ${isTest ? "FALSE" : "TRUE"}
QUALIFY ROW_NUMBER() OVER (PARTITION BY ${key.map((name) => staged(at(name))).join(", ")} ORDER BY ${order.join(", ")}) = 1
) S
ON ${key.map((name) => `T.${quoted(name)} = S.v${at(name)}`).join(" AND ")}
${update}
WHEN NOT MATCHED THEN INSERT (${columns.map(({ name }) => quoted(name)).join(", ")})
VALUES (${columns.map((_, i) => `S.v${i}`).join(", ")})`;
}
