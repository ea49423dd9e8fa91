import { and, eq, ne, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { definitionOf } from "../destinations/index.ts";
import { shown } from "../destinations/secrets.ts";
import { logWhere } from "../engine/run_log.ts";
import { ofOrganization, type Row } from "./statements.ts";

const MAX_COMPARED = 1000;

type Keys = Pick<Row, "interval" | "model" | "destination">;

/** Warns in the export's log, after the response, if another export writes the same objects. */
export const warnOfSharedKeys = (tenant: Tenant, row: Row) =>
	tenant.later(async (db) => {
		const patternOf = ({ destination, model }: Keys) =>
			definitionOf(destination.type)?.keyPattern?.(shown(destination).config, model) ?? null;
		const pattern = patternOf(row);
		if (pattern === null) return;
		const others = await db
			.select({
				id: batchExports.uuid,
				name: batchExports.name,
				interval: batchExports.interval,
				model: batchExports.model,
				destination: batchExports.destination,
			})
			.from(batchExports)
			.where(
				and(
					ofOrganization(tenant),
					eq(batchExports.project_id, row.team_id),
					ne(batchExports.id, row.row_id),
				),
			)
			.limit(MAX_COMPARED);
		// Windows of different lengths have different keys.
		const other = others.find(
			(candidate) => candidate.interval === row.interval && patternOf(candidate) === pattern,
		);
		if (other)
			await logWhere(
				db,
				{
					batch_export_id: row.row_id,
					level: "WARNING",
					message: `The export "${other.name}" (${other.id}) writes objects with the same keys. A run fails instead of replacing an object of another export. Change the prefix of one of the two exports.`,
				},
				sql`true`,
			);
	});
