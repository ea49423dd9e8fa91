import { digest } from "../../../keys/keys.ts";
import { DAY_MS, HOUR_MS } from "../../../lib/time.ts";
import { runSteps, warningOf } from "../../../outbound/steps.ts";
import type { Destination, Job, Sink } from "../destination.ts";
import { type Counts, describeUnfit, type Fitter, fitter } from "../fit/fitter.ts";
import type { Workload } from "../roles/workload.ts";
import { sampleOf } from "../sample.ts";
import { type Client, connect, type Fields } from "./client.ts";
import type { Settings } from "./definition.ts";
import { STAGING } from "./errors.ts";
import { limitsOf, mergeStatement, stagingFields, tableFields, toLines } from "./table.ts";

/**
 * `staging`: the table into which the run's rows are loaded. `rows`: the number of its rows.
 * `digest`: the digest of these rows, in order, which is part of the IDs of jobs. `unfit`: how many
 * values became null, because their columns can't hold them.
 */
export type State = { staging: string; rows: number; digest: string; unfit?: Counts };

/** The minimum size of a load job, except for the last one. */
const LOAD_BYTES = 8 * 2 ** 20;

/** After this time, BigQuery removes staging tables that a run or a test couldn't remove. */
const STAGING_LIFETIME_MS = 7 * DAY_MS;
const TEST_LIFETIME_MS = HOUR_MS;

const EMPTY: State = { staging: "", rows: 0, digest: "" };

async function extendDigest(previous: string, bytes: Uint8Array<ArrayBuffer>) {
	const hash = await crypto.subtle.digest("SHA-256", bytes);
	return digest(previous + new Uint8Array(hash).toHex());
}

const tableOf = ({ table_id }: Settings) => table_id ?? "events";

async function ensureTable(client: Client, config: Settings, { columns }: Job): Promise<Fields> {
	const table = tableOf(config);
	const found = await client.fieldsOf(table);
	if (found) return found;
	await client.createTable(table, tableFields(columns, config));
	return (await client.fieldsOf(table)) ?? [];
}

async function openRun(
	client: Client,
	config: Settings,
	...[job, state, saveState]: Parameters<Destination<State>["open"]>
): Promise<Sink<State>> {
	let loaded = state;
	/** The state of the staging table, including the pages that wait for a load job. */
	let written = state ?? EMPTY;
	let waiting: Uint8Array[] = [];
	let bytes = 0;
	let opened: Fitter | undefined;

	/** Doesn't create the table: the MERGE needs it. */
	async function open() {
		const table = tableOf(config);
		const fields = (await client.fieldsOf(table)) ?? tableFields(job.columns, config);
		const limits = limitsOf(job.columns, fields);
		return fitter(`${config.dataset_id}.${table}`, job.columns, limits, state?.unfit);
	}

	async function begin() {
		loaded = { ...EMPTY, staging: `${STAGING}${crypto.randomUUID()}` };
		await saveState(loaded);
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
			opened ??= await open();
			const lines = toLines(opened.fit(page), written.rows);
			waiting.push(lines);
			bytes += lines.length;
			written = {
				...written,
				rows: written.rows + page.length,
				digest: await extendDigest(written.digest, lines),
				unfit: opened.counts,
			};
			return bytes < LOAD_BYTES ? null : flush();
		},

		get unfit() {
			return opened?.unfit ?? 0;
		},

		async close() {
			if (waiting.length > 0) await flush();
			if (!loaded) return {};
			const { staging, digest } = loaded;
			const table = tableOf(config);
			const fields = await ensureTable(client, config, job);
			const merge = mergeStatement(config, job, { staging, table, fields });
			await client.query(`${staging}_merge_${digest}`, merge);
			await client.dropTable(staging);
			return { warnings: describeUnfit(opened?.counts ?? state?.unfit) };
		},
	};
}

/**
 * Returns the destination that writes to a BigQuery table, which is created if it doesn't exist.
 * Each row is in the table once.
 *
 * A run loads its rows into its own staging table, a few megabytes per job. At its end, one MERGE
 * by key copies them to the export's table. So rows don't appear before that, and each row appears
 * once:
 * - The ID of each job consists of the staging table and a digest of all rows so far. BigQuery
 *   never runs two jobs with the same ID, so an attempt that resumes from the state finds the jobs
 *   that were already started, and waits for them.
 * - If that attempt reads different rows, its jobs have different IDs. The MERGE copies each key
 *   once, so duplicates in the staging table are harmless.
 * - The state names the staging table before it is created, so `abort` can always remove it. If
 *   that also fails, BigQuery removes the table after a week.
 *
 * Load jobs have quotas: 1,500 a day for a table, 100,000 for a project. MERGE has none. Each
 * staging table has its own quota, which allows 12 GiB per run.
 */
export function openBigQuery(
	env: Env,
	config: Settings,
	timeoutMs: number,
	workload: Workload,
): Destination<State> {
	const start = () => connect({ env, timeoutMs, workload }, config);
	return {
		open: (...options) => openRun(start(), config, ...options),

		abort: (_, { staging }) => start().dropTable(staging),

		/** Does the same as a run, with a MERGE of no rows, or into a copy if there is no table. */
		test({ job, rows } = sampleOf("events")) {
			const client = start();
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
						client.createTable(name, fields, TEST_LIFETIME_MS);
					const found = await client.fieldsOf(table);
					const fields = found ?? tableFields(job.columns, config);
					const limits = limitsOf(job.columns, fields);
					const sample = fitter(`${config.dataset_id}.${table}`, job.columns, limits);
					const fitted = sample.fit(rows);
					await make(staging, stagingFields(job.columns));
					await client.load(`${staging}_load`, staging, [toLines(fitted, 0)]);
					if (!found) await make(copy, fields);
					const tables = { staging, table: found ? table : copy, fields };
					const merge = mergeStatement(config, job, tables, found !== null);
					await client.query(`${staging}_merge`, merge);
					return warningOf(describeUnfit(sample.counts));
				},
				remove,
			}).then(async (steps) => {
				if (steps.at(-1)?.name === "write") await remove().catch(() => {});
				return steps;
			});
		},
	};
}
