import { Buffer } from "node:buffer";

/** PostgreSQL cuts longer names ("Identifiers and Key Words"). */
const MAX_POSTGRES_BYTES = 63;

/** Names that every PostgreSQL table has ("System Columns"). */
const POSTGRES_COLUMNS = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/** BigQuery, "Specify a schema", "Flexible column names" and "Column names". */
const BIGQUERY_NAME = /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\s&%=+:'<>#|]+$/u;
const BIGQUERY_PREFIXES = [
	"_table_",
	"_file_",
	"_partition",
	"_row_timestamp",
	"__root__",
	"_colidentifier",
	"_change_sequence_number",
	"_change_type",
	"_change_timestamp",
];

/** Returns the first name that is equal to another one if the case is ignored. */
const repeated = (names: string[]) =>
	names.find((name, i) => names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) < i);

function forBigQuery(names: string[]) {
	const wrong = names.find((name) => !BIGQUERY_NAME.test(name));
	if (wrong !== undefined)
		return `BigQuery doesn't accept the column name ${wrong}: use AS with a name of letters, digits and underscores.`;
	const reserved = names.find((name) =>
		BIGQUERY_PREFIXES.some((prefix) => name.toLowerCase().startsWith(prefix)),
	);
	if (reserved !== undefined)
		return `BigQuery reserves the beginning of the column name ${reserved}: use AS with another name.`;
	const again = repeated(names);
	return again === undefined
		? null
		: `BigQuery ignores the case of column names, so ${again} is there twice: use AS with another name.`;
}

function forPostgres(names: string[]) {
	const long = names.find((name) => Buffer.byteLength(name) > MAX_POSTGRES_BYTES);
	if (long !== undefined)
		return `PostgreSQL column names have at most ${MAX_POSTGRES_BYTES} bytes: use AS with a shorter name than ${long}.`;
	const system = names.find((name) => POSTGRES_COLUMNS.includes(name));
	return system === undefined
		? null
		: `Every PostgreSQL table has a system column ${system}: use AS with another name.`;
}

/**
 * Returns why a database can't have columns with these names; null if it can.
 * @param type the type of a destination
 */
export function whyNotColumns(type: string, names: string[]): string | null {
	if (type === "BigQuery") return forBigQuery(names);
	return type === "Postgres" ? forPostgres(names) : null;
}
