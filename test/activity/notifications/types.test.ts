import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import {
	columnsOf,
	DEFAULTS,
	JOINS,
	TYPES,
	typeWith,
} from "../../../src/activity/notifications/types.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { alerts } from "../../../src/db/schema/notifications.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { RETOTAL } from "../../support/activity.ts";
import { digests } from "../../support/mail.ts";
import { db, world } from "../../support/world.ts";

const write = (organization_id: string, type: (typeof TYPES)[number]) =>
	db.insert(activityLog).values({
		...columnsOf(type),
		organization_id: organizationId(organization_id),
		is_system: type !== JOINS,
		item_id: "7",
		name: "The item",
		trigger: { error: "It broke.", reason: "It broke.", via: "invite" },
	});

test("an event is mailed by default only if its type has default recipients", async () => {
	const { id } = await world();
	for (const type of TYPES) await write(id, type);
	await db.run(RETOTAL);
	const waiting = await db
		.select()
		.from(alerts)
		.where(eq(alerts.organization_id, organizationId(id)));
	const types = TYPES.filter((type) => DEFAULTS[type].length > 0);
	expect(waiting.map(typeWith).sort()).toEqual([...types].sort());
	expect(await digests({ id }, Date.now())).toHaveLength(types.length);
});
