import { MisconfiguredError } from "../../../outbound/errors.ts";
import { runSteps, warningOf } from "../../../outbound/steps.ts";
import { type Column, PRIMARY_KEYS, type Row } from "../../query/rows.ts";
import type { Destination, Job } from "../destination.ts";
import { type Counts, describeUnfit, type Fitter, fitter } from "../fit/fitter.ts";
import { sampleOf } from "../sample.ts";
import { begin, connect, type Session } from "./connection.ts";
import { copyText } from "./copy.ts";
import type { Settings } from "./definition.ts";
import { SignInRejectedError } from "./errors.ts";
import { ensureTable, findTable, limitsOf, statementsFor, tableOf } from "./table.ts";

/**
 * Rows are safe as soon as they are written. `unfit`: how many values became null, because their
 * columns can't hold them.
 */
type State = { unfit?: Counts };

/** How many pages share a transaction. Until it is committed, they are in memory. */
const PAGES_PER_TRANSACTION = 10;

/** Returns the rows by their key. If several rows have the same key, the last one is used. */
function byKey({ columns, model }: Job, rows: Row[]) {
	const at = PRIMARY_KEYS[model].map((name) => columns.findIndex((column) => column.name === name));
	return new Map(rows.map((row) => [at.map((i) => row[i]).join("\n"), row]));
}

/** Collects the pages that wait for their transaction. No two of them have a key in common. */
function waitingPages() {
	let pages: Map<string, Row>[] = [];
	let keys = new Set<string>();
	return {
		get count() {
			return pages.length;
		},
		has: (rows: Map<string, Row>) => rows.keys().some((key) => keys.has(key)),
		add(rows: Map<string, Row>) {
			pages.push(rows);
			for (const key of rows.keys()) keys.add(key);
		},
		take() {
			const taken = pages;
			pages = [];
			keys = new Set();
			return (columns: Column[], isChecked: boolean) =>
				taken.map((rows) => copyText(columns, rows.values(), isChecked));
		},
	};
}

/** Rows for a COPY. `isChecked`: whether the server checks JSON itself. */
type Pages = ReturnType<ReturnType<typeof waitingPages>["take"]>;

/**
 * Writes rows to a table, each call in its own transaction. COPY directly into the table costs the
 * server least. If the server rejects this, for example because the table already has one of the
 * rows, it stores none of them. Then these rows and all later ones go through the temporary table,
 * because a run that writes one row again usually also writes others again.
 */
function putInto(
	session: Session,
	{ check, load, stage, upsert }: ReturnType<typeof statementsFor>,
	{ isPlain, checksJson, columns }: Awaited<ReturnType<typeof findTable>> & { columns: Column[] },
	timeoutMs: number,
) {
	const transaction = (...statements: string[]) =>
		[begin(timeoutMs), ...statements, "commit"].join(";");
	let isDirect = isPlain;
	return async (pages: Pages) => {
		try {
			if (isDirect) return await session.copy(transaction(check, load), pages(columns, checksJson));
		} catch (error) {
			if (!(error instanceof MisconfiguredError)) throw error;
			isDirect = false;
			await session.query("rollback");
		}
		await session.copy(transaction(stage, upsert), pages(columns, false));
	};
}

/**
 * Returns the destination that writes to a PostgreSQL table, which is created if it doesn't exist.
 * Each row is in the table once: a row that is written again replaces the stored one. Each part of
 * a run uses one connection.
 * @param timeoutMs the timeout of a statement
 */
export function openPostgres(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const table = tableOf(config);

	function prepare({ columns, model }: Job) {
		const context = { config, table, key: PRIMARY_KEYS[model], timeoutMs };
		return {
			statements: statementsFor(table, columns, model),
			connect: () => connect(env, context),
			find: (session: Session) => findTable(session, config, columns),
			ensure: (session: Session) => ensureTable(session, config, columns, model),
			async limit(session: Session, before?: Counts) {
				const { limits, written } = await limitsOf(session, config, columns);
				return { columns: written, fitter: fitter(table, columns, limits, before) };
			},
		};
	}

	return {
		async open(job, state) {
			const { connect, find, ensure, limit, statements } = prepare(job);
			const waiting = waitingPages();
			let session: Session | undefined;
			let opened: { fitter: Fitter; put: ReturnType<typeof putInto> } | undefined;
			let failed = false;
			async function start() {
				session = await connect();
				let found = await find(session);
				if (!found.hasTable) {
					await session.query(begin(timeoutMs));
					await ensure(session);
					await session.query("commit");
					found = await find(session);
				}
				const { columns, fitter } = await limit(session, state?.unfit);
				const put = putInto(session, statements, { ...found, columns }, timeoutMs);
				return { fitter, put };
			}
			async function flush() {
				if (waiting.count === 0) return;
				failed = true;
				await opened?.put(waiting.take());
				failed = false;
			}
			return {
				async write(page) {
					failed = true;
					opened ??= await start();
					failed = false;
					const rows = byKey(job, opened.fitter.fit(page));
					if (waiting.has(rows)) await flush();
					waiting.add(rows);
					if (waiting.count < PAGES_PER_TRANSACTION) return null;
					await flush();
					return { unfit: opened.fitter.counts };
				},
				get unfit() {
					return opened?.fitter.unfit ?? 0;
				},
				async close() {
					await flush();
					return { warnings: describeUnfit(opened?.fitter.counts ?? state?.unfit) };
				},
				release() {
					if (failed) session?.destroy();
					else session?.end();
				},
			};
		},

		async abort() {},

		/** Does the same as a run, in a transaction that is rolled back. */
		test({ job, rows } = sampleOf("events")) {
			const { connect, ensure, limit, statements } = prepare(job);
			const { stage, upsert } = statements;
			let session: Session | undefined;
			let rejection: SignInRejectedError | undefined;
			return runSteps({
				reach: async () => {
					session = await connect().catch((error: unknown) => {
						if (!(error instanceof SignInRejectedError)) throw error;
						rejection = error;
						return undefined;
					});
				},
				"sign in": async () => {
					if (rejection) throw rejection;
				},
				write: async () => {
					if (!session) return;
					await session.query(begin(timeoutMs));
					await ensure(session);
					const { columns, fitter } = await limit(session);
					const fitted = fitter.fit(rows);
					// The second upsert replaces the rows of the first. Constraints are checked as a commit
					// would check them.
					await session.copy([stage, upsert, upsert, "set constraints all immediate"].join(";"), [
						copyText(columns, fitted),
					]);
					return warningOf(describeUnfit(fitter.counts));
				},
				remove: async () => session?.query("rollback"),
			}).finally(() => session?.destroy());
		},
	};
}
