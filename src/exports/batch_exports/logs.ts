import { and, eq, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { entryOf, readLog } from "../../db/log_page.ts";
import { batchExportRuns, type LEVELS } from "../../db/schema/batch_exports.ts";
import type { StoredEntry } from "../../db/schema/log.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { MINUTE_MS } from "../../lib/time.ts";
import { EXPORT_LOGS } from "../engine/run_log.ts";
import { selectOne as selectRun } from "./runs.ts";
import { type logFilters, toBatchExport } from "./shape.ts";
import { rowIdOf, selectName, selectOne } from "./statements.ts";

type Filters = z.infer<typeof logFilters>;

type Stored = StoredEntry<(typeof LEVELS)[number], []>;

function toEntry(row: { number: number; id: string; run: string | null; entry: Stored }) {
	const { id, timestamp, message } = entryOf(row);
	return { id, timestamp, level: row.entry[1], message, run_id: row.run };
}

export async function list(tenant: Tenant, id: string, page: Page, { level, ...rest }: Filters) {
	const filters = { levels: level, ...rest };
	const log = readLog<Stored>(tenant.db, EXPORT_LOGS, { of: rowIdOf(tenant, id), page, filters });
	const [rows, unread, counted, [row]] = await tenant.read(
		...log.statements,
		selectOne(tenant, id),
	);
	return { ...toBatchExport(orNotFound(row)), ...log.envelopeOf([rows, unread, counted], toEntry) };
}

/** How long after the last change of a run an entry about it may be written. */
const MAX_DELAY_MS = MINUTE_MS;

/** Returns a page of a run's entries: among those of its export since the run was created. */
export async function listOfRun(
	tenant: Tenant,
	{ id, run_id }: { id: string; run_id: string },
	page: Page,
	{ level, ...rest }: Filters,
) {
	const { batch_export_id, created_at, last_updated_at } = batchExportRuns;
	const lower = run_id.toLowerCase();
	const positions = (owner: SQL) => {
		const isIt = and(eq(batch_export_id, owner), eq(batchExportRuns.id, lower));
		const momentOf = (column: typeof created_at | typeof last_updated_at) =>
			sql`(select ${column} from ${batchExportRuns} where ${isIt})`;
		return {
			from: momentOf(created_at),
			until: sql`${momentOf(last_updated_at)} + ${MAX_DELAY_MS}`,
		};
	};
	const run = { id: lower, positions };
	const filters = { levels: level, ...rest, run };
	const log = readLog<Stored>(tenant.db, EXPORT_LOGS, { of: rowIdOf(tenant, id), page, filters });
	const [rows, unread, counted, [parent], [row]] = await tenant.read(
		...log.statements,
		selectName(tenant, id),
		selectRun(tenant, id, run_id),
	);
	orNotFound(parent && row);
	return log.envelopeOf([rows, unread, counted], toEntry);
}
