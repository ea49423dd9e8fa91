import type { Reference } from "../http/reference.ts";
import type users from "./routes.ts";

const reference: Reference<typeof users> = {
	tag: { name: "Users", description: "You: your names, and where you work." },
	operations: {
		"/:uuid": {
			get: {
				id: "getUser",
				summary: "Retrieve yourself",
				description:
					"Answers with your user, your organizations, and the organization and project that you work in. Other users are a 404.",
			},
			patch: {
				id: "updateUser",
				summary: "Change yourself",
				description:
					"Changes your names, or where you work: choosing a project also chooses its organization.",
				errors: { does_not_exist: "You can't see the organization or project." },
			},
		},
	},
};
export default reference;
