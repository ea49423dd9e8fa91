import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { TEST_TIMEOUT_MS, type TestResult, testResult } from "../../outbound/steps.ts";
import { activityOf, read, streamCipher } from "./queries.ts";
import type { test as Test } from "./shape.ts";
import { merged, opened, openSink, serverOf } from "./sinks/index.ts";

/** Tests the destination of a stream, with the changes in the body. */
export async function testDestination(
	tenant: Tenant,
	id: string,
	{ destination = {} }: z.infer<typeof Test>,
): Promise<z.infer<typeof TestResult>> {
	const row = await read(tenant, id);
	const cipher = streamCipher(tenant.env, row.id);
	const stored = await merged(cipher, row.destination, destination);
	await tenant.write({
		entries: [
			{
				...activityOf(row),
				activity: "tested",
				trigger: { destination: stored.type, endpoint: serverOf(stored) },
			},
		],
	});
	const stream = {
		...row,
		organization_uuid: tenant.caller.organization_uuid ?? "",
		destination: await opened(cipher, stored),
	};
	const sink = await openSink(tenant.env, stream, TEST_TIMEOUT_MS);
	return testResult(await sink.test());
}
