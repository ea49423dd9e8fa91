import type { Row } from "../rows.ts";
import { sampleOf } from "../sample.ts";
import type { Destination, Job } from "./destination.ts";
import { begin, connect, type Session } from "./postgres/connection.ts";
import { copyText } from "./postgres/copy.ts";
import { type Settings, SignInRefused } from "./postgres/errors.ts";
import { ensureTable, KEYS, statementsFor, tableOf } from "./postgres/table.ts";
import { trial } from "./trial.ts";

/** Rows are safe as soon as they are written. */
type State = Record<string, never>;

/** The rows, and of those with the same key the last. */
function latest({ columns, model }: Job, rows: Row[]) {
	const at = KEYS[model].map((name) =>
		columns.findIndex((column) => column.name === name),
	);
	return new Map(
		rows.map((row) => [at.map((i) => row[i]).join("\n"), row]),
	).values();
}

/**
 * A table of PostgreSQL, made where it is missing, in which each row is once: a row that comes again replaces the one
 * that is there. One connection serves a part of a run; each page is a transaction of its own.
 * @param timeoutMs how long the server may take for a statement
 */
export function postgres(
	env: Env,
	config: Settings,
	timeoutMs: number,
): Destination<State> {
	const table = tableOf(config);

	function prepare(job: Job) {
		const { columns, model } = job;
		const { stage, upsert } = statementsFor(table, columns, model);
		const context = { config, table, key: KEYS[model], timeoutMs };
		return {
			upsert,
			connect: () => connect(env, context),
			ensure: (session: Session) =>
				ensureTable(session, config, columns, model),
			/** Puts rows into the table, within statements that come before and after. */
			put: (session: Session, rows: Row[], before = "", after = "") =>
				session.copy(
					[before, stage, upsert, after].filter(Boolean).join(";"),
					copyText(columns, latest(job, rows)),
				),
		};
	}

	return {
		database: true,
		hidesSecrets: true,

		async open(job) {
			const { connect, ensure, put } = prepare(job);
			let session: Session | undefined;
			let failed = false;
			return {
				async write(rows) {
					failed = true;
					if (session) await put(session, rows, begin(timeoutMs), "commit");
					else {
						session = await connect();
						await session.query(begin(timeoutMs));
						await ensure(session);
						await put(session, rows, "", "commit");
					}
					failed = false;
					return {};
				},
				close: async () => [],
				release() {
					if (failed) session?.destroy();
					else session?.end();
				},
			};
		},

		async abort() {},

		/** What a run does, in a transaction that is rolled back. */
		test({ job, rows } = sampleOf("events")) {
			const { connect, ensure, put, upsert } = prepare(job);
			let session: Session | undefined;
			let refusal: SignInRefused | undefined;
			return trial({
				reach: async () => {
					session = await connect().catch((error: unknown) => {
						if (!(error instanceof SignInRefused)) throw error;
						refusal = error;
						return undefined;
					});
				},
				"sign in": async () => {
					if (refusal) throw refusal;
				},
				write: async () => {
					if (!session) return;
					await session.query(begin(timeoutMs));
					await ensure(session);
					// Twice, since the second row replaces the first; and with what would be checked at the end.
					await put(
						session,
						rows,
						"",
						`${upsert};set constraints all immediate`,
					);
				},
				remove: async () => session?.query("rollback"),
			}).finally(() => session?.destroy());
		},
	};
}
