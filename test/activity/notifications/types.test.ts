import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { columnsOf, DEFAULTS, TYPES } from "../../../src/activity/notifications/types.ts";
import { SYSTEM_TYPES } from "../../../src/db/event_types.ts";
import { organizationId } from "../../../src/db/organization_ids.ts";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import { alerts } from "../../../src/db/schema/notifications.ts";
import { digests } from "../../support/mail.ts";
import { db, world } from "../../support/world.ts";

const write = (organization_id: string, type: (typeof TYPES)[number]) =>
	db.insert(activityLog).values({
		...columnsOf(type),
		organization_id: organizationId(organization_id),
		is_system: true,
		item_id: "7",
		name: "The item",
		trigger: { error: "It broke.", reason: "It broke." },
	});

test("each type of event that happens without a caller can be mailed", () => {
	expect([...TYPES].sort()).toEqual([...SYSTEM_TYPES].sort());
});

test.each(TYPES)(
	"an event %s is mailed by default only if it has default recipients",
	async (type) => {
		const { id } = await world();
		await write(id, type);
		const waiting = await db
			.select()
			.from(alerts)
			.where(eq(alerts.organization_id, organizationId(id)));
		expect(waiting).toHaveLength(DEFAULTS[type].length > 0 ? 1 : 0);
		expect(await digests({ id }, Date.now())).toHaveLength(waiting.length);
	},
);

test.each(TYPES)("an event %s is mailed in words and with a link to its item", async (type) => {
	const { here, id, owner } = await world();
	const subscriptions = [{ type, recipients: [owner.uuid] }];
	const { status } = await here("PATCH", "/notifications", { body: { subscriptions } });
	expect(status).toBe(200);
	await write(id, type);
	const [mail, ...others] = await digests({ id }, Date.now());
	expect(others).toEqual([]);
	expect(mail?.subject).toMatch(/^1 [a-zA-Z].* in Acme$/);
	expect(mail?.text).toContain(` – The item: `);
	expect(mail?.text).toContain(`\n${env.APP_URL}/api/`);
	expect(mail?.text).toContain(`because Acme has notifications for ${type}.`);
});
