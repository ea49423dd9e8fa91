import { digest } from "../../auth/keys.ts";
import type { Column } from "../rows.ts";
import { sampleOf } from "../sample.ts";
import {
	type Client,
	check,
	codeOf,
	connect,
	type Settings,
	tableOf,
} from "./clickhouse/client.ts";
import { linesFor } from "./clickhouse/lines.ts";
import { type ColumnTypes, ensureTable, findTable, settingsFor } from "./clickhouse/table.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { type Answer, addressOf } from "./send.ts";
import { runSteps } from "./steps.ts";

/** `id`: part of the deduplication tokens of a run's inserts. A run that starts over gets a new one. */
type State = { id: string };

/** The approximate size of an insert, in characters. With larger inserts, ClickHouse has to merge fewer parts. */
const INSERT_CHARACTERS = 4 * 2 ** 20;

/** Makes a test insert fail after the first row, so that no row is stored: an insert stores either all its rows or none. */
const BROKEN_ROW = "This row is broken so that none is stored.\n";
const BROKEN_AT = /\(at row 2\)/;

/** Returns how to write rows to a table whose columns have these types. */
const tableFor = (columns: Column[], types: ColumnTypes) => ({
	toLines: linesFor(columns, types),
	settings: settingsFor(types),
});

type Table = ReturnType<typeof tableFor>;

/** The error code of older servers, which don't support CHECK GRANT. */
const SYNTAX_ERROR = 62;

/** @throws Misconfigured if the user may not create the table */
async function checkGrants({ ask, run }: Client, config: Settings) {
	const { text: readonly } = await run("SELECT getSetting('readonly')");
	const answer = await ask(`CHECK GRANT CREATE TABLE, INSERT ON ${tableOf(config)}`);
	const isGranted = codeOf(answer) === SYNTAX_ERROR || check(answer, config).text.trim() === "1";
	if (isGranted && readonly.trim() === "0") return;
	throw new Misconfigured(
		`There is no table ${tableOf(config)}, and the user may not create it. Grant CREATE TABLE and INSERT, or create the table yourself.`,
	);
}

/**
 * Returns the destination that writes to a ClickHouse table, which is created if it doesn't exist. A row with an existing key
 * replaces the old row when parts are merged; until then, `FINAL` hides the old one.
 */
export function clickhouse(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const client = connect(env, config, timeoutMs);
	const { ask, insert } = client;

	return {
		database: true,
		resumes: true,

		async open({ columns, model }, state, saveState) {
			const names = columns.map(({ name }) => name);
			let id = state?.id;
			let lines = "";
			let table: Table | undefined;

			async function flush() {
				if (lines === "") return;
				if (id === undefined) {
					id = crypto.randomUUID();
					await saveState({ id });
				}
				// With this token the server stores a repeated insert only once, even in tables without a key.
				const insert_deduplication_token = await digest(`${id} ${lines}`);
				const settings = { ...table?.settings, insert_deduplication_token };
				check(await insert(names, lines, settings), config);
				lines = "";
			}

			return {
				async write(rows) {
					table ??= tableFor(columns, await ensureTable(client, config, columns, model));
					lines += table.toLines(rows);
					if (lines.length < INSERT_CHARACTERS) return null;
					await flush();
					return id === undefined ? null : { id };
				},
				async close() {
					await flush();
					return [];
				},
			};
		},

		async abort() {},

		/** Does the same as a run, but doesn't store rows. */
		test({ job: { columns }, rows } = sampleOf("events")) {
			let answer: Answer | undefined;
			return runSteps({
				reach: async () => {
					answer = await ask("SELECT 1");
				},
				"sign in": async () => answer && check(answer, config),
				write: async () => {
					const types = await findTable(client, config);
					if (!types) return checkGrants(client, config);
					const { toLines, settings } = tableFor(columns, types);
					const failed = await insert(
						columns.map(({ name }) => name),
						toLines(rows) + BROKEN_ROW,
						settings,
					);
					if (BROKEN_AT.test(failed.text)) return;
					check(failed, config);
					throw new Misconfigured(
						`${addressOf(new URL(config.url))} stored an invalid row: it doesn't behave like ClickHouse.`,
					);
				},
			});
		},
	};
}
