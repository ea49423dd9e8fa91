import { MisconfiguredError } from "../../../../outbound/errors.ts";
import { begin, type Session } from "./connection.ts";
import type { findTable, statementsFor } from "./table.ts";

/** Rows for a COPY. `isChecked`: whether the server checks JSON itself. */
type Pages = (isChecked: boolean) => Uint8Array[];

/**
 * Writes rows to a table, each call in its own transaction. COPY directly into the table costs the
 * server least. If the server rejects this, for example because the table already has one of the
 * rows, it stores none of them. Then these rows and all later ones go through the temporary table,
 * because a run that writes one row again usually also writes others again.
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
			if (!(error instanceof MisconfiguredError)) throw error;
			isDirect = false;
			await session.query("rollback");
		}
		await session.copy(transaction(stage, upsert), pages(false));
	};
}
