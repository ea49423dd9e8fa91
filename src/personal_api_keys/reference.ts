import type { Reference } from "../http/reference.ts";
import type personalApiKeys from "./routes.ts";

const reference: Reference<typeof personalApiKeys> = {
	tag: {
		name: "Personal API keys",
		description:
			"The keys with which you use this API. Each has scopes, and may be restricted to organizations or projects. `@current` stands for the one in use.",
	},
	operations: {
		"/": {
			get: {
				id: "listPersonalApiKeys",
				summary: "List your keys",
				description: "Lists your keys without their values, newest first.",
			},
			post: {
				id: "createPersonalApiKey",
				summary: "Create a key",
				description:
					"Only this answer shows the key's `value`. A key can't make one that may do more than itself, or lives longer. You may have 25 keys.",
				errors: { does_not_exist: "You can't see an organization or project in the restrictions." },
			},
		},
		"/:id": {
			get: {
				id: "getPersonalApiKey",
				summary: "Retrieve a key",
				description: "Answers with one of your keys, without its value.",
			},
			patch: {
				id: "updatePersonalApiKey",
				summary: "Change a key",
				description:
					"Changes one of your keys, at once for all requests. A key can't be given more than the key in use may do.",
				errors: { does_not_exist: "You can't see an organization or project in the restrictions." },
			},
			delete: {
				id: "revokePersonalApiKey",
				summary: "Revoke a key",
				description: "Requests with the key are refused from now on, also if it is the one in use.",
			},
		},
		"/:id/roll": {
			post: {
				id: "rollPersonalApiKey",
				summary: "Give a key a new value",
				description:
					"The old value stops working at once. Only this answer shows the new `value`. A key that may do more than the one in use can't be rolled.",
			},
		},
	},
};
export default reference;
