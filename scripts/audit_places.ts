/** Where `audit verify` reads the files of audit streams: a folder, or a bucket. */
import { createReadStream, readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";

export type Place = {
	/** Yields the paths of all files, of which the beginning is the place. */
	paths(): AsyncIterable<string>;
	/** Opens a file. */
	read(path: string): Promise<Readable>;
	close(): Promise<void>;
};

/** Audit streams write files of about 8 MB, unless an entry is larger. S3's are read as a whole. */
const MAX_OBJECT_BYTES = 64 * 2 ** 20;

const TIMEOUT_MS = 30_000;

const folder = (path: string): Place => ({
	async *paths() {
		yield* readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
	},
	read: async (file) => createReadStream(file),
	close: async () => {},
});

/** A place in a bucket, whose paths are URLs. */
const inBucket = (
	{ root, prefix }: Bucket,
	list: (prefix: string) => AsyncIterable<string[]>,
	rest: { read(key: string): Promise<Readable>; close(): Promise<void> },
): Place => ({
	async *paths() {
		for await (const keys of list(prefix)) for (const key of keys) yield root + key;
	},
	read: (path) => rest.read(path.slice(root.length)),
	close: rest.close,
});

/** `root` is the bucket's URL with a slash. */
type Bucket = { scheme: string; root: string; name: string; prefix: string };

function parse(place: string): Bucket | null {
	const [root, scheme = "", name = ""] = /^(s3|r2):\/\/([^/]+)\/?/.exec(place) ?? [];
	if (root === undefined) return null;
	return { scheme, name, root: `${scheme}://${name}/`, prefix: place.slice(root.length) };
}

/** Opens a bucket of Amazon S3 or a compatible service, with the variables of AWS's own tools. */
async function openS3(bucket: Bucket): Promise<Place> {
	const { connect } = await import("./operator.ts");
	const { openS3: open } = await import("../src/exports/destinations/s3/bucket.ts");
	const { s3 } = await import("../src/exports/destinations/s3/definition.ts");
	const { workloadOf } = await import("../src/exports/destinations/roles/workload.ts");
	const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
	const { AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3 } = process.env;
	if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
		throw new Error(`${bucket.root} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`);
	const endpoint_url = AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL;
	const config = s3.config.parse({
		bucket_name: bucket.name,
		region: AWS_REGION || AWS_DEFAULT_REGION || "us-east-1",
		prefix: "",
		aws_access_key_id: AWS_ACCESS_KEY_ID,
		aws_secret_access_key: AWS_SECRET_ACCESS_KEY,
		...(AWS_SESSION_TOKEN && { aws_session_token: AWS_SESSION_TOKEN }),
		...(endpoint_url && { endpoint_url }),
	});
	// The person at this computer may connect to anything.
	const vars = { ALLOW_PRIVATE_DESTINATIONS: "true" };
	const { env, dispose } = await connect<Env>({ vars });
	const { bucket: opened, get } = open(env, config, TIMEOUT_MS, workloadOf(env, null));
	return inBucket(bucket, opened.list, {
		read: async (key) => Readable.from([Buffer.from(await get(key, MAX_OBJECT_BYTES))]),
		close: dispose,
	});
}

/** Opens a bucket of R2: with `remote` the deployed one, with Wrangler's login; else a local one. */
async function openR2(bucket: Bucket, remote: boolean): Promise<Place> {
	const { connect, stored } = await import("./operator.ts");
	const { lockOrFail, unlock } = await import("./state.ts");
	const { openR2: open } = await import("../src/exports/destinations/r2/bucket.ts");
	if (!remote) await lockOrFail("npm run admin");
	const { env, dispose } = await connect<Env>(
		{ r2_buckets: [{ binding: "EXPORTS", bucket_name: bucket.name, remote }] },
		remote ? undefined : stored,
	);
	return inBucket(bucket, open(env).bucket.list, {
		async read(key) {
			const object = await env.EXPORTS.get(key);
			if (!object) throw new Error("there is no such object");
			const reader = object.body.getReader();
			return Readable.from(
				(async function* () {
					for (let next = await reader.read(); !next.done; next = await reader.read())
						yield Buffer.from(next.value);
				})(),
			);
		},
		async close() {
			await dispose();
			unlock();
		},
	});
}

/**
 * Opens the place of an argument: a folder, or the URL of a bucket with a prefix.
 * @throws if it can't be opened
 */
export async function openPlace(place: string, remote = false): Promise<Place> {
	const bucket = parse(place);
	if (bucket === null) return folder(place);
	return bucket.scheme === "s3" ? openS3(bucket) : openR2(bucket, remote);
}
