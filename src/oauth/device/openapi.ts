import { describe, type OpenApi } from "../../http/openapi.ts";
import { APPROVAL, REQUESTED } from "../requests/openapi.ts";
import { DeviceRequest, deviceApproval, userCode } from "../requests/shape.ts";
import type devices from "./routes.ts";

const INVALID = "No device waits with the code: it is wrong, has expired, or was entered before.";

export default {
	tag: {
		name: "Device requests",
		description:
			"The decision of a person about an app on a device that shows a code (RFC 8628). The console calls these operations. Apps call `/oauth/device_authorization` and `/oauth/token`. A person can enter ten codes a minute.",
	},
	operations: {
		"POST /preview": {
			id: "previewDeviceRequest",
			summary: "Describe the request of a device",
			description: "Returns what to show to the person who has entered the code.",
			errors: { invalid_input: INVALID },
		},
		"POST /": {
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
		},
		"POST /deny": {
			id: "denyDeviceRequest",
			summary: "Deny a device",
			description: "Denies the app on the device what it asks for. This is final.",
			errors: { invalid_input: INVALID },
		},
	},
} satisfies OpenApi<typeof devices>;

const CODE = {
	user_code: "The code that the device shows. Case, spaces and hyphens don't matter.",
};

describe(userCode, CODE);

describe(deviceApproval, { ...CODE, ...APPROVAL });

describe(DeviceRequest, REQUESTED);
