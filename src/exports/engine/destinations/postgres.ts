import { MisconfiguredError } from "../../../outbound/errors.ts";
import { runSteps } from "../../../outbound/steps.ts";
import { PRIMARY_KEYS, type Row } from "../rows.ts";
import { sampleOf } from "../sample.ts";
import type { Destination, Job } from "./destination.ts";
import { begin, connect, type Session } from "./postgres/connection.ts";
import { copyText } from "./postgres/copy.ts";
import { type Settings, SignInRejectedError } from "./postgres/errors.ts";
import { ensureTable, findTable, statementsFor, tableOf } from "./postgres/table.ts";

/** Empty, because rows are safe as soon as they are written. */
type State = Record<string, never>;

/** How many pages share a transaction. Until it is committed, they are in memory. */
const PAGES_PER_TRANSACTION = 10;

/** Returns the rows by their key. If several rows have the same key, the last one is used. */
function byKey({ columns, model }: Job, rows: Row[]) {
	const at = PRIMARY_KEYS[model].map((name) => columns.findIndex((column) => column.name === name));
	return new Map(rows.map((row) => [at.map((i) => row[i]).join("\n"), row]));
}

/** Collects the pages that wait for their transaction. No two of them have a key in common. */
function waitingPages(job: Job) {
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
			return (isChecked: boolean) =>
				taken.map((rows) => copyText(job.columns, rows.values(), isChecked));
		},
	};
}

/** Rows for a COPY. `isChecked`: whether the server checks JSON itself. */
type Pages = (isChecked: boolean) => Uint8Array[];

/**
 * Writes rows to a table, each call in its own transaction. COPY directly into the table costs the
 * server least. If the server rejects this, for example because the table already has one of the
 * rows, it stores none of them. Then these rows and all later ones go through the temporary table,
 * because a run that writes one row again usually also writes others again.
 */
function putInto(
	session: Session,
	{ check, load, stage, upsert }: ReturnType<typeof statementsFor>,
	{ isPlain, checksJson }: Awaited<ReturnType<typeof findTable>>,
	timeoutMs: number,
) {
	const transaction = (...statements: string[]) =>
		[begin(timeoutMs), ...statements, "commit"].join(";");
	let isDirect = isPlain;
	return async (pages: Pages) => {
		try {
			if (isDirect) return await session.copy(transaction(check, load), pages(checksJson));
		} catch (error) {
			if (!(error instanceof MisconfiguredError)) throw error;
			isDirect = false;
			await session.query("rollback");
		}
		await session.copy(transaction(stage, upsert), pages(false));
	};
}

/**
 * Returns the destination that writes to a PostgreSQL table, which is created if it doesn't exist.
 * Each row is in the table once: a row that is written again replaces the stored one. Each part of
 * a run uses one connection.
 * @param timeoutMs the timeout of a statement
 */
export function postgres(env: Env, config: Settings, timeoutMs: number): Destination<State> {
	const table = tableOf(config);

	function prepare({ columns, model }: Job) {
		const context = { config, table, key: PRIMARY_KEYS[model], timeoutMs };
		return {
			statements: statementsFor(table, columns, model),
			connect: () => connect(env, context),
			find: (session: Session) => findTable(session, config, columns),
			ensure: (session: Session) => ensureTable(session, config, columns, model),
		};
	}

	return {
		async open(job) {
			const { connect, find, ensure, statements } = prepare(job);
			const waiting = waitingPages(job);
			let session: Session | undefined;
			let put: ReturnType<typeof putInto> | undefined;
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
				return putInto(session, statements, found, timeoutMs);
			}
			async function flush() {
				if (waiting.count === 0) return;
				failed = true;
				put ??= await start();
				await put(waiting.take());
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
					return {};
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
			const { connect, ensure, statements } = prepare(job);
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
					// The second upsert replaces the rows of the first. Constraints are checked as a commit
					// would check them.
					await session.copy([stage, upsert, upsert, "set constraints all immediate"].join(";"), [
						copyText(job.columns, rows),
					]);
				},
				remove: async () => session?.query("rollback"),
			}).finally(() => session?.destroy());
		},
	};
}
