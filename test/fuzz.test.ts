import { testRandomInput } from "./fuzz.ts";
import { operationsOf } from "./support/contract.ts";

testRandomInput(
	operationsOf(
		"POST /api/organizations/{organization_id}/batch_exports",
		"GET /api/organizations/{organization_id}/activity_log",
		"PATCH /api/projects/{project_id}/plugin_configs/{id}",
		"GET /api/projects/{project_id}/plugin_configs/{plugin_config_id}/logs",
		"POST /api/projects/{project_id}/plugin_configs/{id}/job",
		"POST /api/projects/{project_id}/events",
		"PATCH /api/users/{uuid}",
		"POST /api/sign_in",
	),
	5,
);
