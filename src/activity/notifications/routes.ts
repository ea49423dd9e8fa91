import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { ok, router } from "../../http/router.ts";
import * as notifications from "./queries.ts";
import { Notifications, update } from "./shape.ts";

/** docs/notifications.md */
export default router({
	name: "Notifications",
	description:
		"Which events of an organization are sent by mail, and to whom: failed export runs, expiring keys, and so on. A mail lists the events since the last one. There is at most one mail an hour for each type.",
})
	.get(
		"/",
		ok(Notifications, {
			id: "getNotifications",
			summary: "Retrieve the notifications",
			description:
				"Returns all event types that can be mailed, with their recipients. Any member may do so.",
		}),
		async (c) => c.json(await notifications.find(c.var.tenant)),
	)
	.patch(
		"/",
		ok(Notifications, {
			id: "updateNotifications",
			summary: "Change the notifications",
			description:
				"Requires level 8. Types that aren't in the body don't change. `recipients` `[]` turns off the mails of a type. Returns all types.",
			errors: {
				invalid_input: "A type is listed twice.",
				does_not_exist: "One of `recipients` isn't an active member of the organization.",
			},
		}),
		atLeast(ADMIN),
		body(update),
		async (c) => c.json(await notifications.update(c.var.tenant, c.req.valid("json"))),
	);
