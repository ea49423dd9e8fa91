import * as z from "zod";
import { boolean, choice, explain, issue, rawText } from "../../../http/fields.ts";
import { defineBucket, originOf } from "../definition.ts";
import {
	bucketName,
	compressible,
	endpoint,
	file,
	header,
	isAwsRegion,
	NOT_AWS_REGION,
	region,
	roleArn,
} from "../fields.ts";

const config = z
	.object({
		bucket_name: bucketName().describe("The bucket."),
		region: region().describe("The bucket's region."),
		...file,
		encryption: explain(
			choice(["AES256", "aws:kms"]).nullish(),
			"How the storage encrypts objects; null for the bucket's default.",
			{
				AES256: "with a key of the storage service.",
				"aws:kms": "with a key of the key management service.",
			},
		),
		kms_key_id: header(2048)
			.min(1)
			.nullish()
			.describe("The key for `aws:kms`; null for the account's default."),
		role_arn: roleArn(),
		aws_access_key_id: header(255).min(1).nullish().describe("The id of the access key."),
		aws_secret_access_key: rawText(255).min(1).nullish().describe("The secret of the access key."),
		aws_session_token: header(4096)
			.min(1)
			.nullish()
			.describe("The token of a temporary access key."),
		endpoint_url: endpoint(),
		use_virtual_style_addressing: boolean()
			.nullish()
			.describe("Whether the bucket is part of the host, not of the path; false by default."),
	})
	.check(compressible, ({ value, issues }) => {
		const { encryption, kms_key_id, endpoint_url, bucket_name } = value;
		const reject = (key: keyof typeof value, message: string) =>
			issues.push({ ...issue(value[key], "invalid_input", message), path: [key] });
		// It is part of the host that gets the token.
		if (value.role_arn && !isAwsRegion(value.region)) reject("region", NOT_AWS_REGION);
		if (kms_key_id && encryption !== "aws:kms")
			reject("kms_key_id", 'A KMS key requires the encryption "aws:kms".');
		// An endpoint that isn't a URL has its own error.
		const endpoint = URL.parse(endpoint_url ?? "");
		if (
			value.use_virtual_style_addressing &&
			endpoint &&
			!URL.canParse(`http://${bucket_name}.${endpoint.host}`)
		)
			reject(
				"use_virtual_style_addressing",
				"The bucket's name and the endpoint don't form a valid host name.",
			);
	});

/** A config, also that of a compatible service. */
export type Settings = z.output<typeof config>;

export function bucketUrl({ bucket_name, region, endpoint_url, ...more }: Settings) {
	const { protocol, host, pathname } = new URL(
		endpoint_url ?? `https://s3.${region}.amazonaws.com`,
	);
	const path = pathname.replace(/\/$/, "");
	return more.use_virtual_style_addressing
		? new URL(`${protocol}//${bucket_name}.${host}${path}`)
		: new URL(`${protocol}//${host}${path}/${bucket_name}`);
}

export const s3 = defineBucket({
	title: "Amazon S3 or compatible",
	config,
	place: "bucket_name",
	secrets: ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"],
	key: ["aws_access_key_id", "aws_secret_access_key"],
	role: {
		settings: ["role_arn"],
		replaces: ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"],
	},
	server: ({ endpoint_url }) => originOf(endpoint_url),
	test: ["reach", "sign in", "write", "remove"],
	url: bucketUrl,
});
