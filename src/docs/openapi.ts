import { describe, type OpenApi } from "../http/openapi.ts";
import type service from "./service.ts";
import { Health, OpenApiDocument, ServiceInfo } from "./service.ts";

export default {
	tag: { name: "Service", description: "The service itself. These operations need no key." },
	operations: {
		"GET /": {
			id: "getService",
			summary: "Name the service",
			description: "Answers with the service's name, its version and where its documentation is.",
		},
		"GET /openapi.json": {
			id: "getOpenApiDocument",
			summary: "Describe the API",
			description:
				"Answers with this document. With `If-None-Match` it is sent only if it has changed.",
		},
		"GET /healthz": {
			id: "getHealth",
			summary: "Check the service",
			description:
				"For load balancers and monitors. A 200 if every field is true, and a 503 with the same fields if one isn't.",
		},
	},
} satisfies OpenApi<typeof service>;

describe(ServiceInfo, {
	name: "Always `Tenantry`.",
	version: "The version of the software. That of the API is the header `Tenantry-Version`.",
	documentation: "The URL of the OpenAPI document, on the host that the request came to.",
});

describe(OpenApiDocument, {
	openapi: "The version of the OpenAPI Specification that the document follows.",
});

describe(Health, {
	d1: "Whether the database answers.",
	kv: "Whether the store in which keys are cached answers.",
	migrations:
		"Whether the database has every migration that this version of the software needs. If not, the operator has to apply them.",
});
