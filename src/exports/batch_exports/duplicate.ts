import { and } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom } from "../../access/objects.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists } from "../../db/client.ts";
import { batchExports } from "../../db/schema/batch_exports.ts";
import { shorten } from "../../lib/text.ts";
import { exportCipher, merged, normalized, opened, sealed } from "../destinations/secrets.ts";
import { gridOf } from "../engine/grid.ts";
import { valuesOf } from "./queries.ts";
import { checkModel, checkQuery } from "./rules.ts";
import { type duplicate as Duplicate, toBatchExport } from "./shape.ts";
import { warnOfSharedKeys } from "./shared_keys.ts";
import {
	activityOf,
	counted,
	notDeleted,
	pausing,
	type Row,
	readScheduled,
	scheduleUnchanged,
	selectOne,
} from "./statements.ts";

const MAX_NAME = 400;

/**
 * Makes a paused copy of an export, with its secrets, which are encrypted for the new one. Its
 * schedule stands where that of the export stands, so that nothing is lost if the one is paused and
 * the other unpaused.
 */
export const duplicate = (tenant: Tenant, id: string, body: z.infer<typeof Duplicate>) =>
	retry(() => tryDuplicate(tenant, id, body));

/**
 * Returns the destination of a copy, with its secrets. Another type has other settings, so none are
 * copied.
 */
async function destinationOf(
	{ env }: Tenant,
	row: Row,
	destination: z.infer<typeof Duplicate>["destination"],
) {
	const { type, config = {} } = destination ?? {};
	if (type !== undefined && type !== row.destination.type) {
		const given = { type, config: normalized(type, config) };
		checkModel({ ...row, destination: given });
		checkQuery({ ...row, destination: given });
		return given;
	}
	const cipher = exportCipher(env, row);
	return opened(
		cipher,
		destination ? await merged(cipher, row.destination, destination) : row.destination,
	);
}

async function tryDuplicate(
	tenant: Tenant,
	original: string,
	{ destination, name }: z.infer<typeof Duplicate>,
) {
	const row = await readScheduled(tenant, original);
	tenant.requireAccess("editor", "batch_export", null);
	const { db, env } = tenant;
	const { type, config } = await destinationOf(tenant, row, destination);
	const id = v7();
	const { model, start_at, end_at, xql_query, schema } = row;
	const called = name ?? shorten(`${row.name} (copy)`, MAX_NAME - 1);
	const copied = { name: called, ...gridOf(row), model, start_at, end_at, xql_query };
	const after = await tenant.write({
		checks: [
			assertRoom(tenant, batchExports, counted(tenant)),
			// The schedule may have moved on.
			assertExists(db, batchExports, and(notDeleted(row.row_id), scheduleUnchanged(row))),
		],
		changes: [
			db.insert(batchExports).values({
				...copied,
				...pausing(null),
				schema,
				uuid: id,
				organization_id: tenant.organization,
				project_id: row.team_id,
				next_start_at: row.next_start_at,
				next_end_at: row.next_end_at,
				due_at: row.next_end_at,
				destination: await sealed(exportCipher(env, { id }), type, config),
			}),
		],
		entries: [
			{
				...activityOf({ id, name: called, team_id: row.team_id }),
				activity: "created",
				values: valuesOf({ ...copied, destination: { type, config } }),
				trigger: { duplicate_of: row.id },
			},
		],
		answer: selectOne(tenant, id),
	});
	warnOfSharedKeys(tenant, after);
	return toBatchExport(after);
}
