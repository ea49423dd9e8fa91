import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { NO_MARK } from "../../exports/destinations/buckets/bucket.ts";
import { openBucket, serverOf } from "../../exports/destinations/index.ts";
import { merged, opened } from "../../exports/destinations/secrets.ts";
import { reason } from "../../outbound/errors.ts";
import {
	runSteps,
	stillThere,
	TEST_TIMEOUT_MS,
	type TestResult,
	testResult,
	Warning,
} from "../../outbound/steps.ts";
import { keyOf } from "./keys.ts";
import { activityOf, read, streamCipher } from "./queries.ts";
import type { test as Test } from "./shape.ts";

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
	const { organization_uuid } = tenant.caller;
	const stream = { ...row, organization_uuid: organization_uuid ?? "", destination: stored };
	const { bucket, steps } = await openBucket(
		tenant.env,
		await opened(cipher, stored),
		TEST_TIMEOUT_MS,
	);
	const results = await runSteps({
		...steps,
		write: async () => {
			const key = keyOf(stream, `.tenantry-test-${crypto.randomUUID()}`);
			await bucket.put(key, Buffer.from("test"), "text/plain", NO_MARK);
			// The bucket may not allow deleting objects. Deliveries don't need that.
			return bucket
				.remove(key)
				.catch((error: unknown) => new Warning(`${reason(error)} ${stillThere(key)}`));
		},
	});
	return testResult(results);
}
