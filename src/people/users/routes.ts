import { body } from "../../access/input.ts";
import { ok, router } from "../../http/router.ts";
import * as users from "./queries.ts";
import { Me, update } from "./shape.ts";

/** docs/organizations.md#users. */
export default router({
	name: "Users",
	description:
		"Your profile, and your current organization and project, which `@current` stands for in paths.",
})
	.get(
		"/:uuid",
		ok(Me, {
			id: "getUser",
			summary: "Retrieve yourself",
			description:
				"Returns your user, your organizations, and your current organization and project. Other users are a 404.",
		}),
		async (c) => c.json(await users.find(c.var.tenant, c.req.param("uuid"))),
	)
	.patch(
		"/:uuid",
		ok(Me, {
			id: "updateUser",
			summary: "Change yourself",
			description:
				"Changes your names, or your current organization and project, for all your keys. For service accounts, this is a 403. A project also sets its organization. An organization alone also sets the oldest project in it that you can see. Returns the same as `getUser`.",
			errors: {
				does_not_exist:
					"You or your key can't see the organization or the project, or the project belongs to another organization than the one in the body.",
			},
		}),
		body(update, users.find),
		async (c) => c.json(await users.update(c.var.tenant, c.req.param("uuid"), c.req.valid("json"))),
	);
