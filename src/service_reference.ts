import type { Reference } from "./http/reference.ts";
import type service from "./service.ts";

const reference: Reference<typeof service> = {
	tag: { name: "Service", description: "The service itself. These operations need no key." },
	operations: {
		"/": {
			get: {
				id: "getService",
				summary: "Name the service",
				description: "Answers with the service's name, its version and where its documentation is.",
			},
		},
		"/openapi.json": {
			get: {
				id: "getOpenApiDocument",
				summary: "Describe the API",
				description: "Answers with this document.",
			},
		},
		"/healthz": {
			get: {
				id: "getHealth",
				summary: "Check the service",
				description:
					"Says whether the databases answer and all migrations are applied; 503 if any isn't so.",
			},
		},
	},
};
export default reference;
