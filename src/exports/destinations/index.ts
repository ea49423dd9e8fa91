/**
 * The types of destinations. Whatever depends on the type follows from this table: the configs that
 * are accepted, which settings are secret, the OpenAPI document, and the forms of the console.
 */
import type * as z from "zod";
import { MisconfiguredError } from "../../outbound/errors.ts";
import { TIMEOUT_MS } from "../../outbound/send.ts";
import type { Model } from "../query/rows.ts";
import { azure } from "./azure/definition.ts";
import { bigquery } from "./bigquery/definition.ts";
import type { OpenBucket } from "./buckets/bucket.ts";
import { clickhouse } from "./clickhouse/definition.ts";
import {
	type BucketDefinition,
	type BucketShape,
	type Definition,
	type Kind,
	typesOf,
} from "./definition.ts";
import type { Destination, Job } from "./destination.ts";
import { filePattern } from "./files/keys.ts";
import { rootOf } from "./files/names.ts";
import { gcs } from "./gcs/definition.ts";
import { http } from "./http/definition.ts";
import { iceberg } from "./iceberg/definition.ts";
import { noop, nowhere } from "./noop.ts";
import { postgres } from "./postgres/definition.ts";
import { r2 } from "./r2/definition.ts";
import { type Workload, workloadOf } from "./roles/workload.ts";
import { s3 } from "./s3/definition.ts";

/** Loads the code of a type, with its client, when it is first used. */
type Load<C extends z.ZodType, Opened> = () => Promise<
	(env: Env, config: z.output<C>, timeoutMs: number, workload: Workload) => Opened
>;

/** How a destination is opened. */
export type Opening = {
	/** How long its server may send no data, in milliseconds. */
	timeoutMs: number;
	/** The subject of the tokens with which it signs in; null if it isn't stored yet. */
	subject: string | null;
};

/** Parses a stored config. Throws MisconfiguredError if it is no longer valid. */
export function parseStored<C extends z.ZodType>(shape: C, config: unknown): z.output<C> {
	const { success, data } = shape.safeParse(config);
	if (success) return data;
	throw new MisconfiguredError(
		"The destination's configuration is no longer valid: save it again.",
	);
}

const destination = <C extends z.ZodObject>(
	definition: Definition<C>,
	load: Load<C, Destination>,
) => ({
	...definition,
	open: async (env: Env, config: unknown, { timeoutMs, subject }: Opening) =>
		(await load())(
			env,
			parseStored(definition.config, config),
			timeoutMs,
			workloadOf(env, subject),
		),
});

/** The folder for tests of the worker's own bucket without a project. */
const TESTS = "trials";

function inBucket<C extends BucketShape>(
	definition: BucketDefinition<C>,
	load: Load<C, OpenBucket>,
) {
	const { config: shape, url } = definition;
	const isOwn = url === null;
	const openBucket = async (env: Env, config: unknown, { timeoutMs, subject }: Opening) =>
		(await load())(env, parseStored(shape, config), timeoutMs, workloadOf(env, subject));
	return {
		...definition,
		kind: "files" as const,
		isOwn,
		openBucket,
		async open(env: Env, config: unknown, opening: Opening): Promise<Destination> {
			const [{ bucket, steps }, { files }] = await Promise.all([
				openBucket(env, config, opening),
				import("./files/writer.ts"),
			]);
			const root = (job?: Job) => rootOf(isOwn, job?.team_id ?? TESTS);
			return files(bucket, parseStored(shape, config), root, steps);
		},
		keyPattern(stored: unknown, model: Model) {
			const config = shape.safeParse(stored).data;
			return config ? `${url?.(config).href ?? ""} ${filePattern(config, model)}` : null;
		},
	};
}

export const DESTINATIONS = {
	S3: inBucket(s3, async () => (await import("./s3/bucket.ts")).openS3),
	R2: inBucket(r2, async () => (await import("./r2/bucket.ts")).openR2),
	HTTP: destination(http, async () => (await import("./http/writer.ts")).openHttp),
	Postgres: destination(postgres, async () => (await import("./postgres/writer.ts")).openPostgres),
	NoOp: destination(noop, async () => nowhere),
	ClickHouse: destination(
		clickhouse,
		async () => (await import("./clickhouse/writer.ts")).openClickHouse,
	),
	AzureBlob: inBucket(azure, async () => (await import("./azure/bucket.ts")).openAzure),
	GCS: inBucket(gcs, async () => (await import("./gcs/bucket.ts")).openGcs),
	BigQuery: destination(bigquery, async () => (await import("./bigquery/writer.ts")).openBigQuery),
	Iceberg: destination(iceberg, async () => (await import("./iceberg/writer.ts")).openIceberg),
};

export type Type = keyof typeof DESTINATIONS;

/** The properties of all types, for a type that is only known when the code runs. */
type Entry = Omit<Definition<z.ZodObject>, "kind" | "secrets" | "server"> & {
	kind: Kind;
	secrets: string[];
	server: ((config: Record<string, string>) => string | null) | null;
	open(env: Env, config: unknown, opening: Opening): Promise<Destination>;
	/** Whether it is the service's own bucket, which all organizations share. */
	isOwn?: boolean;
	/** Opens the bucket of a type that writes files. */
	openBucket?(env: Env, config: unknown, opening: Opening): Promise<OpenBucket>;
	/**
	 * Returns the pattern of the keys that an export writes, to compare with the patterns of other
	 * exports. Null if its config isn't valid any more.
	 * @param stored without secrets
	 */
	keyPattern?(stored: unknown, model: Model): string | null;
};

export const { TYPES, definitionOf } = typesOf<Type, Entry>(DESTINATIONS);

export const isDatabase = (type: string) => definitionOf(type)?.kind === "database";

/**
 * Opens the destination of a type.
 * @param config with decrypted secrets
 * @throws MisconfiguredError if the type or the config isn't valid any more
 */
export async function destinationOf(
	env: Env,
	type: string,
	config: unknown,
	{ timeoutMs = TIMEOUT_MS, subject = null }: Partial<Opening> = {},
): Promise<Destination> {
	const definition = definitionOf(type);
	if (!definition) throw new MisconfiguredError(`There is no destination "${type}".`);
	return definition.open(env, config, { timeoutMs, subject });
}

/**
 * Opens the bucket of a destination.
 * @param config with decrypted secrets
 * @throws MisconfiguredError if the destination isn't a bucket, or its config isn't valid any more
 */
export async function openBucket(
	env: Env,
	{ type, config }: { type: string; config: unknown },
	opening: Opening,
): Promise<OpenBucket> {
	const bucket = await definitionOf(type)?.openBucket?.(env, config, opening);
	if (!bucket) throw new MisconfiguredError(`${type} is not a bucket.`);
	return bucket;
}
