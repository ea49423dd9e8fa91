import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import type { Destination } from "../../db/schema/batch_exports.ts";
import { TEST_TIMEOUT_MS, type TestResult, testResult } from "../../outbound/steps.ts";
import { destinationOf, isDatabase } from "../destinations/index.ts";
import { exportSubject } from "../destinations/roles/subjects.ts";
import { sampleOf } from "../destinations/sample.ts";
import { exportCipher, merged, normalized, opened, serverOf } from "../destinations/secrets.ts";
import { parse } from "../query/query.ts";
import { fieldsOf, type Model } from "../query/rows.ts";
import { checkModel, checkQuery } from "./rules.ts";
import type { test as Test, update as Update } from "./shape.ts";
import { activityOf, read } from "./statements.ts";

export async function testNewDestination(
	tenant: Tenant,
	{ destination, model = "events", xql_query = null }: z.infer<typeof Test>,
) {
	await tenant.read();
	checkModel({ model, destination });
	checkQuery({ model, xql_query, destination });
	const { type } = destination;
	const config = normalized(type, destination.config ?? {});
	await tenant.write({
		entries: [
			{
				...entryOf({ type, config }),
				scope: "BatchExportDestination",
				item_id: type,
				name: serverOf({ type, config }) ?? type,
			},
		],
	});
	const team_id = tenant.caller.project_id ?? 0;
	const content = { model, xql_query, team_id, subject: null };
	return test(tenant.env, { type, config }, content);
}

export async function testDestination(
	tenant: Tenant,
	id: string,
	changes: Pick<z.infer<typeof Update>, "destination" | "model" | "xql_query">,
) {
	const row = await read(tenant, id);
	const { model = row.model, xql_query = row.xql_query } = changes;
	checkModel({ model, destination: row.destination });
	checkQuery({ model, xql_query, destination: row.destination });
	const cipher = exportCipher(tenant.env, row);
	const stored = await merged(cipher, row.destination, changes.destination ?? {});
	await tenant.write({ entries: [{ ...activityOf(row), ...entryOf(stored) }] });
	const { team_id } = row;
	const organization = tenant.caller.organization_uuid;
	const subject = organization && exportSubject({ organization, project: team_id, id: row.id });
	const content = { model, xql_query, team_id, subject };
	return test(tenant.env, await opened(cipher, stored), content);
}

/** Returns the activity entry of a test, which is written before the destination gets a request. */
const entryOf = ({ type, config }: Destination) => ({
	activity: "tested" as const,
	trigger: { destination: type, endpoint: serverOf({ type, config }) },
});

type Content = {
	model: Model;
	xql_query: string | null;
	team_id: number;
	/** The subject of its tokens; null if the export isn't stored. */
	subject: string | null;
};

/** Runs the test of a destination whose secrets are decrypted. */
async function test(
	env: Env,
	{ type, config }: Destination,
	{ model, xql_query, team_id, subject }: Content,
): Promise<z.infer<typeof TestResult>> {
	const destination = await destinationOf(env, type, config, {
		timeoutMs: TEST_TIMEOUT_MS,
		subject,
	});
	const query = xql_query === null ? null : parse(xql_query).fields;
	const fields = fieldsOf(model, query, isDatabase(type));
	return testResult(await destination.test(sampleOf(model, fields, team_id)));
}
