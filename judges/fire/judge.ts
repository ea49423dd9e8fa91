/** Compares the acknowledged events with the content of the outputs, by DuckDB. */
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

/** How many rows an output has, and how many events are wrong in which way. */
type Verdict = {
	rows: number;
	/** Acknowledged, but not exported. */
	missing: number;
	/** Rows beyond the first of an event. */
	repeated: number;
	/** Exported with other content than was sent. */
	changed: number;
	/** Exported, but never sent. */
	unknown: number;
};

const FIELDS = [
	"event",
	"distinct_id",
	"properties",
	"person_properties",
	"elements_chain",
	"timestamp",
];

/** The DuckDB type of a line with an event as it was sent. */
const SENT = `{${["uuid", "person_id", ...FIELDS].map((name) => `${name}: 'VARCHAR'`).join(", ")}}`;

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;

const list = (paths: string[]) => `[${paths.map(text).join(", ")}]`;

/** SQL for the text of a JSON value between two keys. JSON functions would reformat its numbers. */
const between = (before: string, after: string) =>
	`nullif(regexp_extract(json::varchar, ',"${before}":(.*),"${after}":', 1), 'null')`;

const fromLines = (paths: string[]) => `
	select json ->> 'uuid' as uuid, json ->> 'event' as event, json ->> 'distinct_id' as distinct_id,
		json ->> 'person_id' as person_id, ${between("properties", "person_properties")} as properties,
		${between("person_properties", "elements_chain")} as person_properties,
		json ->> 'elements_chain' as elements_chain, json ->> 'timestamp' as timestamp
	from read_ndjson_objects(${list(paths)})`;

const fromParquet = (paths: string[]) => `
	select uuid, event, distinct_id, person_id, properties::varchar as properties,
		person_properties::varchar as person_properties, elements_chain,
		strftime(make_timestamp(epoch_us(timestamp)), '%Y-%m-%dT%H:%M:%S.%gZ') as timestamp
	from read_parquet(${list(paths)})`;

const NO_ROWS = `select ${["uuid", "person_id", ...FIELDS].map((name) => `null::varchar as ${name}`).join(", ")} limit 0`;

/**
 * The files of an output.
 * @throws if there are manifests that don't name exactly these files
 */
function filesOf(folder: string) {
	const find = (pattern: string) =>
		globSync(pattern, { cwd: folder }).map((path) => `${folder}/${path}`);
	const files = find("**/*.{jsonl,jsonl.gz,parquet}");
	const manifests = find("**/*_manifest.json");
	const named = manifests.flatMap((path) => {
		const { files }: { files: string[] } = JSON.parse(readFileSync(path, "utf8"));
		return files.map((key) => basename(key));
	});
	const found = files.map((path) => basename(path));
	if (manifests.length > 0 && `${found.sort()}` !== `${named.sort()}`)
		throw new Error(`The manifests in ${folder} don't name its files.`);
	return files;
}

/**
 * @param folder has `sent.jsonl`, `acknowledged.jsonl`, and `outputs/<name>/` with files that end
 * in `.jsonl`, `.jsonl.gz` or `.parquet`
 * @param names of the outputs
 */
export async function judge(folder: string, names: string[]): Promise<Map<string, Verdict>> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		await connection.run(`
			create table sent as select * from read_json(${text(`${folder}/sent.jsonl`)}, format = 'newline_delimited', columns = ${SENT});
			create table acknowledged as
				select uuid from read_json(${text(`${folder}/acknowledged.jsonl`)}, format = 'newline_delimited', columns = {uuid: 'VARCHAR'})`);
		const verdicts = new Map<string, Verdict>();
		for (const name of names) {
			const files = filesOf(`${folder}/outputs/${name}`);
			const [first = ""] = files;
			const rows = first.endsWith(".parquet")
				? fromParquet(files)
				: first
					? fromLines(files)
					: NO_ROWS;
			await connection.run(`create or replace table output as ${rows}`);
			const differs = FIELDS.map((field) => `output.${field} is distinct from sent.${field}`).join(
				" or ",
			);
			// An event that was sent without a person_id gets one.
			const reader = await connection.runAndReadAll(`
				select (select count(*) from output) as rows,
					(select count(*) from acknowledged where uuid not in (select uuid from output where uuid is not null)) as missing,
					(select count(uuid) - count(distinct uuid) from output) as repeated,
					(select count(distinct uuid) from output join sent using (uuid)
						where ${differs} or output.person_id <> sent.person_id or output.person_id is null) as changed,
					(select count(*) from output where uuid is null or uuid not in (select uuid from sent)) as unknown`);
			const [counts = {}] = reader.getRowObjectsJson();
			const { missing, repeated, changed, unknown } = counts;
			verdicts.set(name, {
				rows: Number(counts.rows),
				missing: Number(missing),
				repeated: Number(repeated),
				changed: Number(changed),
				unknown: Number(unknown),
			});
		}
		return verdicts;
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

export const isFaultless = ({ missing, repeated, changed, unknown }: Verdict) =>
	missing + repeated + changed + unknown === 0;
