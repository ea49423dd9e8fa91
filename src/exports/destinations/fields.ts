/** The fields that the configs of several destinations have. */
import * as z from "zod";
import {
	choice,
	eventName,
	explain,
	integer,
	issue,
	notAChoice,
	rawText,
	text,
	url,
} from "../../http/fields.ts";

const names = () => z.array(eventName(400)).max(1000).nullish();

/** Which events are exported. */
export const filters = {
	include_events: names().describe(
		"Only events with these names are exported. An empty list means all.",
	),
	exclude_events: names().describe("Events with these names aren't exported."),
};

const VARIABLES = [
	"year",
	"month",
	"day",
	"hour",
	"minute",
	"second",
	"data_interval_start",
	"data_interval_end",
	"window",
	"table",
];

/** The prefix of keys. It can't have segments that URLs would normalise. */
const prefix = text(512).check(({ value, issues }) => {
	const unknownVariable = [...value.matchAll(/\{([^{}]*)\}/g)].find(
		([, name = ""]) => !VARIABLES.includes(name),
	);
	if (unknownVariable)
		issues.push(issue(value, "invalid_input", `Unknown variable ${unknownVariable[0]}.`));
	if (value.split("/").some((segment) => /^\.\.?$/.test(segment)))
		issues.push(issue(value, "invalid_input", "A prefix can't have the segments . or .. ."));
});

/** The value of a header. The runtime would also send other characters, but it logs such values. */
export const header = (max: number) =>
	rawText(max).regex(/^[\x20-\x7e]*$/, "Only printable ASCII characters are allowed.");

/** The name of a region. */
export const region = () =>
	text(100)
		.min(1)
		.regex(/^[\w-]+$/, "The name of a region can only have letters, digits and hyphens.");

const AWS_REGION = /^[a-z]{2,}(?:-[a-z]+)+-\d+$/;

/**
 * Whether a region is named like those of AWS. Where it is part of a host, no other is allowed: the
 * host of a service or a bucket could be meant by it, such as `s3`.
 */
export const isAwsRegion = (region: string) => AWS_REGION.test(region);

/** Says what is wrong with a region that isn't one of AWS. */
export const NOT_AWS_REGION = "AWS has no such region. Its regions are named like eu-central-1.";

/** The fields that all file destinations have. */
export const file = {
	prefix: prefix.describe(
		"The prefix of the files' keys. Can contain variables: `{year}`, `{month}`, `{day}`, `{hour}`, `{minute}` and `{second}` of the window's end, `{data_interval_start}`, `{data_interval_end}`, `{table}`, and `{window}`, the window without colons, which names the files if it follows the last slash.",
	),
	file_format: explain(
		choice(["JSONLines", "Parquet", "CSV"]).nullish(),
		"The format of files; `JSONLines` by default.",
		{
			JSONLines: "one JSON object per line.",
			Parquet: "columns, with JSON as text.",
			CSV: "lines with a header (RFC 4180).",
		},
	),
	compression: explain(
		choice(["gzip", "snappy", "zstd"]).nullish(),
		"How files are compressed; null for no compression.",
		{
			gzip: "for all formats.",
			snappy: "for Parquet only.",
			zstd: "for all formats.",
		},
	),
	max_file_size_mb: integer(1, 100_000)
		.nullish()
		.describe(
			"The size, in millions of bytes, after which a new file starts; null for one file per run.",
		),
	...filters,
};

/** Only Parquet can be compressed with snappy. */
export function compressible({
	value,
	issues,
}: z.core.ParsePayload<{
	file_format?: string | null | undefined;
	compression?: string | null | undefined;
}>) {
	const { file_format, compression } = value;
	if (file_format === "Parquet" || compression !== "snappy") return;
	issues.push({
		...issue(compression, "invalid_choice", notAChoice(compression), ["gzip", "zstd"]),
		path: ["compression"],
	});
}

/** The URL of a file destination's server, without the bucket. */
export const endpoint = () =>
	url()
		.refine((value) => !/[?#]/.test(value), {
			error: "The URL of an endpoint can't have a query or a fragment.",
		})
		.nullish()
		.describe("The URL of the storage's API; the provider's by default.");

/** The ARN of a role. */
export const roleArn = () =>
	text(2048)
		.regex(
			/^arn:aws(?:-cn|-us-gov)?:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/,
			"Enter arn:aws:iam::<account>:role/<name>.",
		)
		.nullish()
		.describe(
			"The role that trusts the export, instead of a stored key: `arn:aws:iam::<account>:role/<name>`.",
		);

export const TABLE = "The table; `events` by default. It is created if it is missing.";

/** A bucket name that can be a segment of a URL. */
export const bucketName = () =>
	text(255)
		.min(1)
		.regex(
			/^(?!\.+$)[\w.-]+$/,
			"The name of a bucket can only have letters, digits, dots, hyphens and underscores.",
		);

/** A host, normalised as in URLs. */
export const host = text(255)
	.min(1)
	.transform((value, { issues }) => {
		const bare = value.includes(":") && !value.startsWith("[") ? `[${value}]` : value;
		const hostname = /[/?#@\\]/.test(value) ? "" : (URL.parse(`http://${bare}`)?.hostname ?? "");
		if (hostname === "") issues.push(issue(value, "invalid_input", "Enter a valid host."));
		return hostname;
	})
	.pipe(z.string().min(1))
	.meta({ maxLength: 255 });
