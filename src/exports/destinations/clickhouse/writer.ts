import { digest } from "../../../keys/keys.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { addressOf, type HttpResponse } from "../../../outbound/send.ts";
import { runSteps, warningOf } from "../../../outbound/steps.ts";
import type { Column } from "../../query/rows.ts";
import type { Destination } from "../destination.ts";
import { type Counts, describeCounts, describeUnfit, fitter } from "../fit/fitter.ts";
import { sampleOf } from "../sample.ts";
import { type Client, check, checkInserted, codeOf, connect, tableOf } from "./client.ts";
import type { Settings } from "./definition.ts";
import { linesFor, lostNulls } from "./lines.ts";
import {
	type ColumnTypes,
	ensureTable,
	findTable,
	limitsOf,
	repetitionWarning,
	settingsFor,
} from "./table.ts";

/**
 * `id`: part of the deduplication tokens of a run's inserts. A run that starts over gets a new one.
 * `nulls`: how many values were null in columns that can't hold null. `unfit`: how many values
 * became null, because their columns can't hold them.
 */
type State = { id: string; nulls?: Counts; unfit?: Counts };

/** The approximate size of an insert, in characters. Larger inserts need fewer merges. */
const INSERT_CHARACTERS = 4 * 2 ** 20;

/** Makes an insert fail after the first row, so that no row is stored. */
const BROKEN_ROW = "This row is broken so that none is stored.\n";
const BROKEN_AT = /\(at row 2\)/;

async function tableFor(
	client: Client,
	config: Settings,
	columns: Column[],
	{ types, unfit }: { types: ColumnTypes; unfit?: Counts | undefined },
) {
	const limits = await limitsOf(client, columns, types);
	const warning = await repetitionWarning(client, config);
	return {
		toLines: linesFor(columns, types),
		countNulls: lostNulls(columns, types),
		settings: settingsFor(types),
		fitter: fitter(tableOf(config), columns, limits, unfit),
		warnings: warning === null ? [] : [warning],
	};
}

const describeNulls = (nulls: Counts) =>
	describeCounts(
		"Stored as the default of their column, because the column isn't Nullable",
		"null value",
		nulls,
	);

/** The error code of older servers, which don't support CHECK GRANT. */
const SYNTAX_ERROR = 62;

/** @throws MisconfiguredError if the user may not create the table */
async function checkGrants({ ask, run }: Client, config: Settings) {
	const { text: readonly } = await run("SELECT getSetting('readonly')");
	const response = await ask(`CHECK GRANT CREATE TABLE, INSERT ON ${tableOf(config)}`);
	const isGranted =
		codeOf(response) === SYNTAX_ERROR || check(response, config).text.trim() === "1";
	if (isGranted && readonly.trim() === "0") return;
	throw new MisconfiguredError(
		`There is no table ${tableOf(config)}, and the user may not create it. Grant CREATE TABLE and INSERT, or create the table yourself.`,
	);
}

/**
 * Returns the destination that writes to a ClickHouse table, which is created if it doesn't exist.
 * A row with an existing key replaces the old row when parts are merged; until then, `FINAL` hides
 * the old one.
 */
export function openClickHouse(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const client = connect(env, config, timeoutMs);
	const { ask, insert } = client;

	return {
		resumes: true,

		async open(job, state, saveState) {
			const names = job.columns.map(({ name }) => name);
			let id = state?.id;
			let nulls = state?.nulls ?? {};
			let lines = "";
			let table: Awaited<ReturnType<typeof tableFor>> | undefined;
			const openTable = async () => {
				const types = await ensureTable(client, config, job.columns, job.model);
				return tableFor(client, config, job.columns, { types, unfit: state?.unfit });
			};

			async function flush() {
				if (lines === "") return;
				if (id === undefined) {
					id = crypto.randomUUID();
					await saveState({ id });
				}
				// With this token, tables that remember inserts ignore a repeated one
				// (`repetitionWarning`).
				const insert_deduplication_token = await digest(`${id} ${lines}`);
				const settings = { ...table?.settings, insert_deduplication_token };
				checkInserted(await insert(names, lines, settings), config);
				lines = "";
			}

			return {
				async write(rows) {
					table ??= await openTable();
					nulls = table.countNulls(rows, nulls);
					lines += table.toLines(table.fitter.fit(rows));
					if (lines.length < INSERT_CHARACTERS) return null;
					await flush();
					return id === undefined ? null : { id, nulls, unfit: table.fitter.counts };
				},
				get unfit() {
					return table?.fitter.unfit ?? 0;
				},
				async close() {
					await flush();
					if (id === undefined) return {};
					table ??= await openTable();
					const { warnings, fitter } = table;
					return {
						warnings: [...warnings, ...describeUnfit(fitter.counts), ...describeNulls(nulls)],
					};
				},
			};
		},

		async abort() {},

		/** Does the same as a run, but doesn't store rows. */
		test({ job: { columns }, rows } = sampleOf("events")) {
			let response: HttpResponse | undefined;
			return runSteps({
				reach: async () => {
					response = await ask("SELECT 1");
				},
				"sign in": async () => response && check(response, config),
				write: async () => {
					const types = await findTable(client, config);
					if (!types) return checkGrants(client, config);
					const table = await tableFor(client, config, columns, { types });
					const names = columns.map(({ name }) => name);
					const lines = table.toLines(table.fitter.fit(rows)) + BROKEN_ROW;
					const failed = await insert(names, lines, table.settings);
					if (BROKEN_AT.test(failed.text))
						return warningOf([...table.warnings, ...describeUnfit(table.fitter.counts)]);
					check(failed, config);
					throw new MisconfiguredError(
						`${addressOf(new URL(config.url))} stored an invalid row: it doesn't behave like ClickHouse.`,
					);
				},
			});
		},
	};
}
