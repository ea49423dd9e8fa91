import { Misconfigured } from "../destination.ts";
import { begin, type Session } from "./connection.ts";
import type { findTable, statementsFor } from "./table.ts";

/** Rows for a COPY. `isChecked`: whether the server checks JSON itself. */
type Pages = (isChecked: boolean) => Uint8Array[];

/**
 * Puts rows into a table, each call in a transaction of its own. New rows cost the server least if they go straight into the
 * table. Where it refuses that, for instance because one of them is in the table, nothing of them is stored. They then go
 * through the temporary table, as does all that follows: a step that comes again is mostly not the only one.
 */
export function putInto(
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
			if (!(error instanceof Misconfigured)) throw error;
			isDirect = false;
			await session.query("rollback");
		}
		await session.copy(transaction(stage, upsert), pages(false));
	};
}
