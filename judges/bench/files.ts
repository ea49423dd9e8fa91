/** Other programs that write the events of a D1 file to compressed files, for comparison. */
import { findProgram } from "../../test/support/peers.ts";
import { python } from "../../test/support/python.ts";
import { cpuOfCommand } from "./processes.ts";
import type { Window } from "./service.ts";

/** The D1 file, the window of events to write, and the output file. */
type Task = { database: string; window: Window; output: string };

/** The fields of a line of an export, in order. */
const LINE = `json_object('uuid', uuid, 'event', event, 'distinct_id', distinct_id, 'person_id', person_id,
	'properties', json(properties), 'person_properties', json(person_properties), 'elements_chain', elements_chain,
	'timestamp', timestamp, 'created_at', created_at, '_inserted_at', _inserted_at)`;

/**
 * Writes JSON Lines with the sqlite3 command line and gzip. Returns null if one of them isn't
 * installed.
 */
export function sqliteWithGzip({ database, window, output }: Task) {
	if (!findProgram("sqlite3") || !findProgram("gzip")) return null;
	const query = `select ${LINE} from ${window.events}`;
	return () =>
		cpuOfCommand('sqlite3 -readonly "$1" "$2" | gzip -6 > "$3"', [database, query, output]);
}

/**
 * Reads with Python's sqlite3, and writes Parquet with zstd with DuckDB. Returns null if they can't
 * be installed.
 */
export async function pythonWithDuckDb({ database, window, output }: Task) {
	const interpreter = await python();
	if (!interpreter) return null;
	const script = `${import.meta.dirname}/parquet.py`;
	return () => cpuOfCommand('"$@"', [interpreter, script, database, window.events, output]);
}
