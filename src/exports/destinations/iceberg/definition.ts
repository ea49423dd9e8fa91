import * as z from "zod";
import { choice, explain, issue, rawText, text, url } from "../../../http/fields.ts";
import { define, originOf } from "../definition.ts";
import {
	endpoint,
	filters,
	header,
	isAwsRegion,
	NOT_AWS_REGION,
	region,
	roleArn,
	TABLE,
} from "../fields.ts";

const part = (max: number) => text(max).min(1);

const config = z
	.object({
		catalog_uri: url()
			.refine((value) => !/[?#]/.test(value), {
				error: "The URL of a catalog can't have a query or a fragment.",
			})
			.describe("The URL of the REST catalog, without `/v1`."),
		warehouse: part(1024)
			.nullish()
			.describe("The warehouse, if the catalog has several, as the catalog names it."),
		namespace: part(512)
			.regex(/^[^.]+(?:\.[^.]+)*$/, "The levels of a namespace are separated by single dots.")
			.describe("The namespace, which must exist. Its levels are separated by dots."),
		table_name: part(255).nullish().describe(TABLE),
		token: header(8192).min(1).nullish().describe("The bearer token for the catalog."),
		client_id: part(1024)
			.nullish()
			.describe("The client that gets a token with its secret (OAuth2 client credentials)."),
		client_secret: rawText(4096).min(1).nullish().describe("The secret of the client."),
		oauth2_server_uri: url()
			.nullish()
			.describe("Where the client's tokens are issued; the catalog by default."),
		scope: part(1024).nullish().describe("The scope of the client's tokens; `catalog` by default."),
		signing_name: explain(
			choice(["glue", "s3tables"]).nullish(),
			"The AWS service for which requests to the catalog are signed with the access key; null for catalogs of others.",
			{ glue: "AWS Glue.", s3tables: "Amazon S3 Tables." },
		),
		region: region()
			.nullish()
			.describe("The region of the bucket and of the AWS service; the catalog's by default."),
		role_arn: roleArn(),
		aws_access_key_id: header(255)
			.min(1)
			.nullish()
			.describe(
				"The id of the access key for the table's bucket. Without one, the catalog gives temporary credentials.",
			),
		aws_secret_access_key: rawText(255).min(1).nullish().describe("The secret of the access key."),
		aws_session_token: header(4096)
			.min(1)
			.nullish()
			.describe("The token of a temporary access key."),
		endpoint_url: endpoint(),
		...filters,
	})
	.check(({ value, issues }) => {
		const reject = (key: keyof typeof value, message: string) =>
			issues.push({ ...issue(value[key], "invalid_input", message), path: [key] });
		if (value.client_secret && !value.client_id)
			reject("client_id", "The secret of a client requires its client_id.");
		if (value.client_id && !value.client_secret)
			reject("client_secret", "A client requires its client_secret.");
		const isKey = Boolean(value.aws_access_key_id);
		if (isKey !== Boolean(value.aws_secret_access_key) || (value.aws_session_token && !isKey))
			reject(
				isKey ? "aws_secret_access_key" : "aws_access_key_id",
				"An access key has an id and a secret.",
			);
		if (value.token && value.client_secret)
			reject("token", "Give token or client_secret, not both.");
		if (value.role_arn && !value.region) reject("region", "A role requires the region.");
		const isInHost = value.role_arn || (isKey && !value.endpoint_url);
		if (isInHost && value.region && !isAwsRegion(value.region)) reject("region", NOT_AWS_REGION);
		if (!value.signing_name) return;
		if (value.token || value.client_secret)
			reject("signing_name", "Requests are either signed, or have a token.");
		if (!isKey && !value.role_arn)
			reject("signing_name", "Signed requests require aws_access_key_id or role_arn.");
		if (!value.region) reject("region", "Signed requests require the region.");
	});

export type Settings = z.output<typeof config>;

export const iceberg = define({
	title: "Apache Iceberg",
	kind: "database",
	config,
	place: "namespace",
	secrets: [
		"token",
		"client_secret",
		"aws_access_key_id",
		"aws_secret_access_key",
		"aws_session_token",
	],
	role: {
		settings: ["role_arn"],
		replaces: ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"],
	},
	server({ catalog_uri, oauth2_server_uri, endpoint_url }) {
		const issuer = originOf(oauth2_server_uri);
		const bucket = originOf(endpoint_url);
		return [
			originOf(catalog_uri) ?? "",
			...(issuer === null ? [] : [`with tokens of ${issuer}`]),
			...(bucket === null ? [] : [`with files at ${bucket}`]),
		].join(", ");
	},
	test: ["reach", "sign in", "write", "remove"],
	whyNotColumns(names) {
		const seen = new Set<string>();
		for (const name of names) {
			const lower = name.toLowerCase();
			if (seen.has(lower))
				return `Readers of Iceberg ignore the case of column names, so ${name} is there twice: use AS with another name.`;
			seen.add(lower);
		}
		return null;
	},
});
