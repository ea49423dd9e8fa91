import { digest } from "../../auth/keys.ts";
import type { Column } from "../rows.ts";
import { sampleOf } from "../sample.ts";
import {
	type Client,
	check,
	client as clientFor,
	codeOf,
	type Settings,
	tableOf,
} from "./clickhouse/client.ts";
import { linesFor } from "./clickhouse/lines.ts";
import { type ColumnTypes, ensureTable, findTable, settingsFor } from "./clickhouse/table.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { type Answer, addressOf } from "./send.ts";
import { runSteps } from "./steps.ts";

/** What tells the inserts of a run from those of other runs, of retries from the start too. */
export type State = { id: string };

/** Each insert makes a part that has to be merged with others: pages are gathered to about this size. */
const INSERT_CHARACTERS = 4 * 2 ** 20;

/** Makes the server read one row, and store none: rows of an insert are stored together or not at all. */
const BROKEN_ROW = "This row is broken so that none is stored.\n";
const BROKEN_AT = /\(at row 2\)/;

/** How rows are written to a table whose columns have these types. */
const tableFor = (columns: Column[], types: ColumnTypes) => ({
	toLines: linesFor(columns, types),
	settings: settingsFor(types),
});

type Table = ReturnType<typeof tableFor>;

/** Older servers don't know CHECK GRANT. */
const SYNTAX_ERROR = 62;

/** Throws if the user couldn't make the table. */
async function checkGrants({ ask, run }: Client, config: Settings) {
	const { text: readonly } = await run("SELECT getSetting('readonly')");
	const answer = await ask(`CHECK GRANT CREATE TABLE, INSERT ON ${tableOf(config)}`);
	const isGranted = codeOf(answer) === SYNTAX_ERROR || check(answer, config).text.trim() === "1";
	if (isGranted && readonly.trim() === "0") return;
	throw new Misconfigured(
		`There is no table ${tableOf(config)}, and the user may not make it: it needs CREATE TABLE and INSERT, or make the table yourself.`,
	);
}

/**
 * A table of ClickHouse, made where it is missing, in which a row that comes again replaces the one that is there once
 * parts are merged, or with FINAL.
 */
export function clickhouse(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const client = clientFor(env, config, timeoutMs);
	const { ask, insert } = client;

	return {
		database: true,
		resumes: true,

		async open({ columns, model }, state, keep) {
			const names = columns.map(({ name }) => name);
			let id = state?.id;
			let lines = "";
			let table: Table | undefined;

			async function flush() {
				if (lines === "") return;
				if (id === undefined) {
					id = crypto.randomUUID();
					await keep({ id });
				}
				// A server that remembers it takes the insert once, in tables without a key too.
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

		/** What a run does, up to the point where rows would be stored. */
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
					const refused = await insert(
						columns.map(({ name }) => name),
						toLines(rows) + BROKEN_ROW,
						settings,
					);
					if (BROKEN_AT.test(refused.text)) return;
					check(refused, config);
					throw new Misconfigured(
						`${addressOf(new URL(config.url))} stored a row that can't be stored: it doesn't work as ClickHouse does.`,
					);
				},
			});
		},
	};
}
