import type { Config } from "../destinations/config.ts";
import type { OpenBucket } from "./bucket.ts";
import { bucketOf } from "./s3/bucket.ts";
import { connect } from "./s3/client.ts";
import type { Dialect } from "./s3/errors.ts";

const AMAZON: Dialect = {
	keys: "aws_access_key_id and aws_secret_access_key",
	explain: () => undefined,
};

export function bucketUrl({
	bucket_name,
	region,
	endpoint_url,
	use_virtual_style_addressing,
}: Config<"S3">) {
	const { protocol, host, pathname } = new URL(
		endpoint_url ?? `https://s3.${region}.amazonaws.com`,
	);
	const path = pathname.replace(/\/$/, "");
	return use_virtual_style_addressing
		? new URL(`${protocol}//${bucket_name}.${host}${path}`)
		: new URL(`${protocol}//${host}${path}/${bucket_name}`);
}

/** Opens a bucket of Amazon S3 or a compatible service. */
export function s3(
	env: Env,
	config: Config<"S3">,
	timeoutMs: number,
	dialect = AMAZON,
): OpenBucket {
	const base = bucketUrl(config);
	const client = connect(env, config, base, { timeoutMs, dialect });
	return {
		bucket: bucketOf(client, config, base),
		steps: { reach: client.reach, "sign in": client.signIn },
	};
}
