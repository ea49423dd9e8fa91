import { createMiddleware } from "hono/factory";
import { body } from "../../access/input.ts";
import type { App } from "../../env.ts";
import { throttled } from "../../http/errors.ts";
import { noContent, ok, router } from "../../http/router.ts";
import { limitNetwork } from "../../keys/network_limits.ts";
import * as shape from "../requests/shape.ts";

/** Returns 429 after too many codes of a person or a network, so that nobody can find one. */
const limitCodes = createMiddleware<App>(async (c, next) => {
	const { success } = await c.env.SIGN_INS.limit({ key: `device codes of ${c.var.key.user_id}` });
	if (!success) throw throttled(60);
	await limitNetwork(c, "device codes", 60);
	await next();
});

const INVALID = "No device waits with the code: it is wrong, has expired, or was entered before.";

/** The requests of apps on devices (docs/oauth.md#devices). */
export default router({
	name: "Device requests",
	description:
		"The decision of a person about an app on a device that shows a code (RFC 8628). The console calls these operations. Apps call `/oauth/device_authorization` and `/oauth/token`. A person can enter ten codes a minute.",
})
	.post(
		"/preview",
		ok(shape.DeviceRequest, {
			id: "previewDeviceRequest",
			summary: "Describe the request of a device",
			description: "Returns what to show to the person who has entered the code.",
			errors: { invalid_input: INVALID },
		}),
		limitCodes,
		body(shape.userCode),
		async (c) => {
			const { preview } = await import("./device.ts");
			return c.json(await preview(c.var.tenant, c.req.valid("json")));
		},
	)
	.post(
		"/",
		noContent({
			id: "approveDeviceRequest",
			summary: "Allow a device",
			description:
				"Allows the app on the device what it asks for, or a part of it. You can't give it more permissions than the key in use has: that is a 403.",
			errors: {
				does_not_exist:
					"You don't belong to an organization, or can't see a project, in the restrictions. `attr` has its position.",
				expiry_required:
					"The access doesn't end, and an organization that it includes requires that keys expire.",
				invalid_input: `${INVALID} Or \`scopes\` has one that the app doesn't ask for.`,
			},
		}),
		limitCodes,
		body(shape.deviceApproval),
		async (c) => {
			const { approve } = await import("./device.ts");
			await approve(c.var.tenant, c.req.valid("json"));
			return c.body(null, 204);
		},
	)
	.post(
		"/deny",
		noContent({
			id: "denyDeviceRequest",
			summary: "Deny a device",
			description: "Denies the app on the device what it asks for. This is final.",
			errors: { invalid_input: INVALID },
		}),
		limitCodes,
		body(shape.userCode),
		async (c) => {
			const { deny } = await import("./device.ts");
			await deny(c.var.tenant, c.req.valid("json"));
			return c.body(null, 204);
		},
	);
