import * as z from "zod";
import { boolean, rawText, text, url } from "../../../http/fields.ts";
import { isRsaPrivateKey } from "../../../keys/private_key.ts";
import { define, originOf } from "../definition.ts";
import { endpoint, filters, TABLE } from "../fields.ts";
import { clientEmail, workloadIdentityProvider } from "../google_fields.ts";

const config = z.object({
	project_id: text(255)
		.min(1)
		.regex(/^[\w.:-]+$/, "A project ID can only have letters, digits, hyphens, dots and colons.")
		.describe("The Google Cloud project."),
	dataset_id: text(1024)
		.min(1)
		.regex(/^\w+$/, "A dataset ID can only have letters, digits and underscores.")
		.describe("The dataset, which must exist."),
	workload_identity_provider: workloadIdentityProvider(),
	client_email: clientEmail()
		.nullish()
		.describe(
			"The service account's email address; required with a key. With a provider, null if its principal has the roles itself.",
		),
	/** Line breaks may be written as \n, as in the JSON file of a key. */
	private_key: rawText(8192)
		.min(1)
		.overwrite((value) => value.replaceAll("\\n", "\n"))
		.refine(isRsaPrivateKey, {
			error:
				"Enter an RSA private key in PEM (PKCS#8), as in the field private_key of a service account's JSON key.",
		})
		.nullish()
		.describe(
			"The service account's private key, as in its JSON key file; required unless there is a provider.",
		),
	private_key_id: text(255).min(1).nullish().describe("The id of the private key."),
	token_uri: url().nullish().describe("Where access tokens are issued; Google's by default."),
	table_id: text(1024)
		.min(1)
		.refine((value) => /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]*$/u.test(value), {
			error: "A table ID can only have letters, digits, underscores, hyphens and spaces.",
		})
		.nullish()
		.describe(TABLE),
	use_json_type: boolean()
		.nullish()
		.describe("Whether columns of JSON have the type `JSON` instead of `STRING`."),
	endpoint_url: endpoint().describe("The URL of the API; Google's by default."),
	...filters,
});

export type Settings = z.output<typeof config>;

/** "Specify a schema", "Flexible column names" and "Column names". */
const COLUMN_NAME = /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\s&%=+:'<>#|]+$/u;
const RESERVED_PREFIXES = [
	"_table_",
	"_file_",
	"_partition",
	"_row_timestamp",
	"__root__",
	"_colidentifier",
	"_change_sequence_number",
	"_change_type",
	"_change_timestamp",
];

/** Returns the first name that is equal to another one if the case is ignored. */
const repeated = (names: string[]) =>
	names.find((name, i) => names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) < i);

export const bigquery = define({
	title: "BigQuery",
	kind: "database",
	config,
	place: "dataset_id",
	secrets: ["private_key"],
	required: ["client_email", "private_key"],
	role: {
		settings: ["workload_identity_provider"],
		replaces: ["private_key", "private_key_id", "token_uri"],
		excludes: ["endpoint_url"],
	},
	// The token server gets a signature of the key.
	server({ endpoint_url, token_uri }) {
		const origin = originOf(endpoint_url);
		const issuer = originOf(token_uri);
		if (issuer === null) return origin;
		return `${origin ?? "the default endpoint"}, with tokens of ${issuer}`;
	},
	test: ["reach", "sign in", "write", "remove"],
	whyNotColumns(names) {
		const wrong = names.find((name) => !COLUMN_NAME.test(name));
		if (wrong !== undefined)
			return `BigQuery doesn't accept the column name ${wrong}: use AS with a name of letters, digits and underscores.`;
		const reserved = names.find((name) =>
			RESERVED_PREFIXES.some((prefix) => name.toLowerCase().startsWith(prefix)),
		);
		if (reserved !== undefined)
			return `BigQuery reserves the beginning of the column name ${reserved}: use AS with another name.`;
		const again = repeated(names);
		return again === undefined
			? null
			: `BigQuery ignores the case of column names, so ${again} is there twice: use AS with another name.`;
	},
});
