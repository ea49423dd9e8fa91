import type { Row } from "../rows.ts";
import { sampleOf } from "../sample.ts";
import { type Destination, type Job, Misconfigured } from "./destination.ts";
import { begin, connect, type Session } from "./postgres/connection.ts";
import { copyText } from "./postgres/copy.ts";
import { type Settings, SignInRefused } from "./postgres/errors.ts";
import { ensureTable, findTable, KEYS, statementsFor, tableOf } from "./postgres/table.ts";
import { runSteps } from "./steps.ts";

/** Rows are safe as soon as they are written. */
type State = Record<string, never>;

/** Each transaction has its price: these many pages share one. Until it is committed they are in memory. */
const PAGES_PER_TRANSACTION = 5;

/** The rows by what tells them apart; of those with the same key the last. */
function byKey({ columns, model }: Job, rows: Row[]) {
	const at = KEYS[model].map((name) => columns.findIndex((column) => column.name === name));
	return new Map(rows.map((row) => [at.map((i) => row[i]).join("\n"), row]));
}

/** Pages that wait for their transaction, no two of which have a key in common. */
function waitingPages(job: Job) {
	let pages: Uint8Array[] = [];
	let keys = new Set<string>();
	return {
		get count() {
			return pages.length;
		},
		has: (rows: Map<string, Row>) => rows.keys().some((key) => keys.has(key)),
		add(rows: Map<string, Row>) {
			pages.push(copyText(job.columns, rows.values()));
			for (const key of rows.keys()) keys.add(key);
		},
		take() {
			const taken = pages;
			pages = [];
			keys = new Set();
			return taken;
		},
	};
}

/**
 * A table of PostgreSQL, made where it is missing, in which each row is once: a row that comes again replaces the one
 * that is there. One connection serves a part of a run.
 * @param timeoutMs how long the server may take for a statement
 */
export function postgres(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const table = tableOf(config);
	const start = begin(timeoutMs);

	function prepare({ columns, model }: Job) {
		const context = { config, table, key: KEYS[model], timeoutMs };
		return {
			...statementsFor(table, columns, model),
			connect: () => connect(env, context),
			ensure: (session: Session) => ensureTable(session, config, columns, model),
		};
	}

	return {
		database: true,

		async open(job) {
			const { connect, ensure, load, stage, upsert } = prepare(job);
			const waiting = waitingPages(job);
			let session: Session | undefined;
			let failed = false;
			/** Whether rows may go straight into the table. */
			let isDirect = false;

			async function prepareTable(session: Session) {
				let found = await findTable(session, config);
				if (!found.hasTable) {
					await session.query(start);
					await ensure(session);
					await session.query("commit");
					found = await findTable(session, config);
				}
				isDirect = found.isPlain;
			}

			/**
			 * New rows cost the database least without a temporary table. Where the server refuses this way, as when one of the rows
			 * is there, nothing is stored; the other way decides, now and for the rest of the part.
			 */
			async function put(session: Session, pages: Uint8Array[]) {
				try {
					if (isDirect) return await session.copy(`${start};${load};commit`, pages);
				} catch (error) {
					if (!(error instanceof Misconfigured)) throw error;
					isDirect = false;
					await session.query("rollback");
				}
				await session.copy(`${start};${stage};${upsert};commit`, pages);
			}

			async function flush() {
				if (waiting.count === 0) return;
				failed = true;
				if (!session) {
					session = await connect();
					await prepareTable(session);
				}
				await put(session, waiting.take());
				failed = false;
			}

			return {
				async write(page) {
					const rows = byKey(job, page);
					if (waiting.has(rows)) await flush();
					waiting.add(rows);
					if (waiting.count < PAGES_PER_TRANSACTION) return null;
					await flush();
					return {};
				},
				async close() {
					await flush();
					return [];
				},
				release() {
					if (failed) session?.destroy();
					else session?.end();
				},
			};
		},

		async abort() {},

		/** What a run does, in a transaction that is rolled back. */
		test({ job, rows } = sampleOf("events")) {
			const { connect, ensure, stage, upsert } = prepare(job);
			let session: Session | undefined;
			let refusal: SignInRefused | undefined;
			return runSteps({
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
					await session.query(start);
					await ensure(session);
					// Twice, since the second row replaces the first; and with what would be checked at the end.
					await session.copy(`${stage};${upsert};${upsert};set constraints all immediate`, [
						copyText(job.columns, rows),
					]);
				},
				remove: async () => session?.query("rollback"),
			}).finally(() => session?.destroy());
		},
	};
}
