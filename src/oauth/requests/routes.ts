import { body } from "../../access/input.ts";
import { ok, router } from "../../http/router.ts";
import * as shape from "./shape.ts";

const INVALID = "The app can't be identified, or `redirect_uri` isn't one of its own.";

/** The requests of apps for access (docs/oauth.md#what-the-person-sees). */
export default router({
	name: "App requests",
	description:
		"The decision of a person about an app that asks for access with OAuth 2.1. The console calls these operations. Apps call `/oauth/token`.",
})
	.post(
		"/preview",
		ok(shape.AppRequest, {
			id: "previewAppRequest",
			summary: "Describe the request of an app",
			description:
				"Checks the request of an app, and returns what to show to the person, or the error that the app gets. If the app isn't registered, the service fetches the document about it from `client_id`.",
			errors: { invalid_input: INVALID },
		}),
		body(shape.previewed),
		async (c) => {
			const { preview } = await import("./request.ts");
			return c.json(await preview(c.var.tenant, c.req.valid("json")));
		},
	)
	.post(
		"/",
		ok(shape.AppResponse, {
			id: "approveAppRequest",
			summary: "Allow an app",
			description:
				"Allows the app what it asks for, or a part of it. The code in the response works once, for a minute. You can't give an app more permissions than the key in use has: that is a 403.",
			errors: {
				does_not_exist:
					"You don't belong to an organization, or can't see a project, in the restrictions. `attr` has its position.",
				expiry_required:
					"The access doesn't end, and an organization that it includes requires that keys expire.",
				invalid_input: `${INVALID} Or \`resource\` names nothing of this service, or \`scopes\` has one that the app doesn't ask for.`,
			},
		}),
		body(shape.approval),
		async (c) => {
			const { approve } = await import("./approve.ts");
			return c.json(await approve(c.var.tenant, c.req.valid("json")));
		},
	);
