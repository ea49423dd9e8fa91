import { digest } from "../../../auth/keys.ts";
import { pluralize } from "../../../lib/plural.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { addressOf, type HttpResponse } from "../../../outbound/send.ts";
import { runSteps, Warning } from "../../../outbound/steps.ts";
import type { Column } from "../rows.ts";
import { sampleOf } from "../sample.ts";
import {
	type Client,
	check,
	checkInserted,
	codeOf,
	connect,
	type Settings,
	tableOf,
} from "./clickhouse/client.ts";
import { linesFor, lostNulls } from "./clickhouse/lines.ts";
import {
	type ColumnTypes,
	ensureTable,
	findTable,
	repetitionWarning,
	settingsFor,
} from "./clickhouse/table.ts";
import type { Destination, Job } from "./destination.ts";

/**
 * `id`: part of the deduplication tokens of a run's inserts. A run that starts over gets a new one.
 * `nulls`: how many values were null in columns that can't hold null.
 */
type State = { id: string; nulls?: Record<string, number> };

/** The approximate size of an insert, in characters. Larger inserts need fewer merges. */
const INSERT_CHARACTERS = 4 * 2 ** 20;

/** Makes an insert fail after the first row, so that no row is stored. */
const BROKEN_ROW = "This row is broken so that none is stored.\n";
const BROKEN_AT = /\(at row 2\)/;

const tableFor = (columns: Column[], types: ColumnTypes) => ({
	toLines: linesFor(columns, types),
	countNulls: lostNulls(columns, types),
	settings: settingsFor(types),
});

async function openTable(client: Client, config: Settings, { columns, model }: Job) {
	const table = tableFor(columns, await ensureTable(client, config, columns, model));
	const warning = await repetitionWarning(client, config);
	return { ...table, warnings: warning === null ? [] : [warning] };
}

type Table = Awaited<ReturnType<typeof openTable>>;

function describeNulls(nulls: Record<string, number>) {
	const counts = Object.entries(nulls);
	if (counts.length === 0) return [];
	const total = counts.reduce((sum, [, count]) => sum + count, 0);
	const columns = counts.map(([name, count]) => `${name} (${count})`).join(", ");
	return [
		`Stored as the default of their column, because the column isn't Nullable: ${pluralize(total, "null value")} in ${columns}.`,
	];
}

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
export function clickhouse(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const client = connect(env, config, timeoutMs);
	const { ask, insert } = client;

	return {
		resumes: true,

		async open(job, state, saveState) {
			const names = job.columns.map(({ name }) => name);
			let id = state?.id;
			let nulls = state?.nulls ?? {};
			let lines = "";
			let table: Table | undefined;

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
					table ??= await openTable(client, config, job);
					lines += table.toLines(rows);
					nulls = table.countNulls(rows, nulls);
					if (lines.length < INSERT_CHARACTERS) return null;
					await flush();
					return id === undefined ? null : { id, nulls };
				},
				async close() {
					await flush();
					if (id === undefined) return {};
					table ??= await openTable(client, config, job);
					return { warnings: [...table.warnings, ...describeNulls(nulls)] };
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
					const { toLines, settings } = tableFor(columns, types);
					const names = columns.map(({ name }) => name);
					const failed = await insert(names, toLines(rows) + BROKEN_ROW, settings);
					if (BROKEN_AT.test(failed.text)) {
						const warning = await repetitionWarning(client, config);
						return warning === null ? undefined : new Warning(warning);
					}
					check(failed, config);
					throw new MisconfiguredError(
						`${addressOf(new URL(config.url))} stored an invalid row: it doesn't behave like ClickHouse.`,
					);
				},
			});
		},
	};
}
