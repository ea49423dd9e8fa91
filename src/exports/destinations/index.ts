import { MisconfiguredError } from "../../outbound/errors.ts";
import { TIMEOUT_MS } from "../../outbound/send.ts";
import { isBucket, openBucket } from "./buckets/open.ts";
import { parseStored } from "./config.ts";
import type { Destination, Job } from "./destination.ts";
import { rootOf } from "./files/names.ts";

/** The folder for tests of the worker's own bucket without a project. */
const TESTS = "trials";

/**
 * Returns the destination of a type. Its code is loaded when it is first used.
 * @param config with decrypted secrets
 * @param timeoutMs how long the server may send no data
 * @throws MisconfiguredError if the type or the config isn't valid any more
 */
export async function destinationOf(
	env: Env,
	type: string,
	config: unknown,
	timeoutMs = TIMEOUT_MS,
): Promise<Destination> {
	if (isBucket(type)) {
		const [{ bucket, steps }, { files }] = await Promise.all([
			openBucket(env, { type, config }, timeoutMs),
			import("./files/writer.ts"),
		]);
		const root = (job?: Job) => rootOf(type, job?.team_id ?? TESTS);
		return files(bucket, parseStored(type, config), root, steps);
	}
	switch (type) {
		case "HTTP":
			return (await import("./http/writer.ts")).http(env, parseStored(type, config), timeoutMs);
		case "Postgres":
			return (await import("./postgres/writer.ts")).postgres(
				env,
				parseStored(type, config),
				timeoutMs,
			);
		case "NoOp":
			return (await import("./noop.ts")).noop;
		case "ClickHouse":
			return (await import("./clickhouse/writer.ts")).clickhouse(
				env,
				parseStored(type, config),
				timeoutMs,
			);
		case "BigQuery":
			return (await import("./bigquery/writer.ts")).bigquery(
				env,
				parseStored(type, config),
				timeoutMs,
			);
		default:
			throw new MisconfiguredError(`There is no destination "${type}".`);
	}
}
