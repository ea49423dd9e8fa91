import { and, asc, eq } from "drizzle-orm";
import { typeOf } from "../../src/db/event_types.ts";
import { activityLog } from "../../src/db/schema/activity_log.ts";
import { organizationId } from "../../src/db/schema/organizations.ts";
import { db } from "./world.ts";

/** Returns the events of an organization that had no caller, oldest first. */
export async function systemEvents(organization_id: string) {
	const rows = await db
		.select()
		.from(activityLog)
		.where(
			and(
				eq(activityLog.organization_id, organizationId(organization_id)),
				eq(activityLog.is_system, true),
			),
		)
		.orderBy(asc(activityLog.position));
	return rows.map(({ item_id, project_id, name, changes, trigger, ...row }) => ({
		type: typeOf(row),
		item_id,
		project_id,
		name,
		changes,
		trigger,
	}));
}
