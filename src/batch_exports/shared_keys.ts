import { and, eq, ne } from "drizzle-orm";
import { batchExportLogEntries, batchExports } from "../db/schema.ts";
import { keyPattern } from "../exporter/destinations/index.ts";
import { shown } from "../exporter/secrets.ts";
import type { Tenant } from "../tenant/tenant.ts";
import type { Row } from "./queries.ts";

/** As many exports of a project as are compared. */
const MAX_COMPARED = 1000;

type Keys = Pick<Row, "interval" | "model" | "destination">;

const patternOf = ({ destination, model }: Keys) => keyPattern(shown(destination), model);

/** Whether two exports write objects under the same keys. Windows of different lengths have different keys. */
const share = (one: Keys, other: Keys) =>
	one.interval === other.interval && patternOf(one) === patternOf(other);

/** Writes a warning into the export's log, after the answer, if another export of its project writes the same objects. */
export const warnOfSharedKeys = (tenant: Tenant, row: Row) => {
	if (patternOf(row) === null) return;
	tenant.later(async (db) => {
		const others = await db
			.select({
				id: batchExports.id,
				name: batchExports.name,
				interval: batchExports.interval,
				model: batchExports.model,
				destination: batchExports.destination,
			})
			.from(batchExports)
			.where(
				and(
					eq(batchExports.project_id, row.team_id),
					eq(batchExports.deleted, false),
					ne(batchExports.id, row.id),
				),
			)
			.limit(MAX_COMPARED);
		const other = others.find((one) => share(row, one));
		if (other)
			await db.insert(batchExportLogEntries).values({
				batch_export_id: row.id,
				level: "WARNING",
				message: `The export "${other.name}" (${other.id}) writes objects under the same keys. Runs fail rather than replace what another export wrote: change the prefix of one of them.`,
			});
	});
};
