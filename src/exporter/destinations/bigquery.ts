import { digest } from "../../auth/keys.ts";
import { sampleOf } from "../sample.ts";
import { type Client, connect, type Fields } from "./bigquery/client.ts";
import { type Settings, STAGING } from "./bigquery/errors.ts";
import { mergeStatement, stagingFields, tableFields, toLines } from "./bigquery/table.ts";
import type { Destination, Job } from "./destination.ts";
import { runSteps } from "./steps.ts";

/**
 * `staging`: the table that the run's rows are loaded into. `rows`: how many are there. `digest`: of all of them, in
 * order; it is part of the IDs of jobs.
 */
export type State = { staging: string; rows: number; digest: string };

/** How many bytes one load job loads, at least, but for the last one. */
const LOAD_BYTES = 8 * 2 ** 20;

const DAY_MS = 86_400_000;

/** After how long BigQuery removes what a run, or a trial, couldn't. */
const STAGING_LIFETIME_MS = 7 * DAY_MS;
const TRIAL_LIFETIME_MS = 3_600_000;

const NOTHING: State = { staging: "", rows: 0, digest: "" };

/** The digest of what `before` stands for and further bytes. */
async function chained(before: string, bytes: Uint8Array<ArrayBuffer>) {
	const hash = await crypto.subtle.digest("SHA-256", bytes);
	return digest(before + new Uint8Array(hash).toHex());
}

const tableOf = ({ table_id }: Settings) => table_id ?? "events";

/** The columns of the export's table, which is made if it is missing. */
async function ensureTable(client: Client, config: Settings, { columns }: Job): Promise<Fields> {
	const table = tableOf(config);
	const found = await client.fieldsOf(table);
	if (found) return found;
	await client.createTable(table, tableFields(columns, config));
	return (await client.fieldsOf(table)) ?? [];
}

/**
 * A table of BigQuery, made where it is missing, in which each row is once.
 *
 * A run loads its rows into a staging table of its own, a few megabytes a job, and takes them over at its end, with one
 * MERGE by their key. Nothing appears before, and nothing twice:
 * - The ID of each job is made of the staging table and a digest of all the rows up to then. BigQuery runs no second job of
 *   an ID, so a run that is repeated from its state finds the jobs that it had begun, and waits for them.
 * - Should a repeated run read other rows, their jobs have other IDs. The MERGE takes each key once, so rows that are in
 *   the staging table twice do no harm.
 * - The state names the staging table before it is made, so whatever ends a run, `abort` can remove it. What even that
 *   misses, BigQuery removes a week later.
 *
 * Load jobs have quotas (1,500 a day for a table, 100,000 for a project); a MERGE has none. The quota for a table counts for
 * each staging table alone: it allows 12 GiB a run.
 */
export function bigquery(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	return {
		database: true,

		async open(job, state, keep) {
			const client = connect(env, config, timeoutMs);
			/** What is in the staging table. */
			let loaded = state;
			/** The same with the pages that wait for a load job. */
			let written = state ?? NOTHING;
			let waiting: Uint8Array[] = [];
			let bytes = 0;

			async function begin() {
				loaded = { ...NOTHING, staging: `${STAGING}${crypto.randomUUID()}` };
				await keep(loaded);
				return loaded;
			}

			async function flush(): Promise<State> {
				const { staging, rows } = loaded ?? (await begin());
				if (rows === 0)
					await client.createTable(staging, stagingFields(job.columns), STAGING_LIFETIME_MS);
				written = { ...written, staging };
				await client.load(`${staging}_load_${written.digest}`, staging, waiting);
				loaded = written;
				waiting = [];
				bytes = 0;
				return loaded;
			}

			return {
				async write(page) {
					const lines = toLines(page, written.rows);
					waiting.push(lines);
					bytes += lines.length;
					written = {
						...written,
						rows: written.rows + page.length,
						digest: await chained(written.digest, lines),
					};
					return bytes < LOAD_BYTES ? null : flush();
				},

				async close() {
					if (waiting.length > 0) await flush();
					if (!loaded) return [];
					const { staging, digest } = loaded;
					const table = tableOf(config);
					const fields = await ensureTable(client, config, job);
					await client.query(
						`${staging}_merge_${digest}`,
						mergeStatement(config, job, { staging, table, fields }),
					);
					await client.dropTable(staging);
					return [];
				},
			};
		},

		abort: (_, { staging }) => connect(env, config, timeoutMs).dropTable(staging),

		/** What a run does. Its rows end up in a table that is removed; where the export's table is there, the MERGE into it takes none. */
		test({ job, rows } = sampleOf("events")) {
			const client = connect(env, config, timeoutMs);
			const id = crypto.randomUUID();
			const staging = `tenantry_trial_${id}`;
			const copy = `tenantry_trial_${id}_copy`;
			const table = tableOf(config);
			const remove = async () => {
				await client.dropTable(staging);
				await client.dropTable(copy);
			};
			return runSteps({
				reach: client.reach,
				"sign in": client.signIn,
				write: async () => {
					await client.locate();
					const make = (name: string, fields: Fields) =>
						client.createTable(name, fields, TRIAL_LIFETIME_MS);
					await make(staging, stagingFields(job.columns));
					await client.load(`${staging}_load`, staging, [toLines(rows, 0)]);
					const found = await client.fieldsOf(table);
					const fields = found ?? tableFields(job.columns, config);
					if (!found) await make(copy, fields);
					const tables = { staging, table: found ? table : copy, fields };
					await client.query(
						`${staging}_merge`,
						mergeStatement(config, job, tables, found !== null),
					);
				},
				remove,
			}).then(async (steps) => {
				if (steps.at(-1)?.name === "write") await remove().catch(() => {});
				return steps;
			});
		},
	};
}
