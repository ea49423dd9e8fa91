/** Components of the pages about audit streams. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type {
	AuditStream,
	AuditStreamDestination,
	AuditStreamDestinationUpdate,
	BatchExportTrial,
	UpdateAuditStreamBody,
} from "tenantry-client";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Field, Select, text } from "../../ui/form.tsx";
import { Badge, type Mood, Time } from "../../ui/values.tsx";

export type State = "healthy" | "failing" | "paused" | "new";

export function stateOf({ enabled, latest_error, delivered_until }: AuditStream): State {
	if (!enabled) return "paused";
	if (latest_error !== null) return "failing";
	return delivered_until === null ? "new" : "healthy";
}

export const STATES: Record<State, readonly [words: string, mood: Mood]> = {
	healthy: ["Up to date", "good"],
	failing: ["Failing", "bad"],
	paused: ["Paused", "warn"],
	new: ["Starting", "quiet"],
};

export function StateBadge({ stream }: { stream: AuditStream }) {
	const [words, mood] = STATES[stateOf(stream)];
	return <Badge mood={mood}>{words}</Badge>;
}

export function stateDetail(stream: AuditStream): ComponentChildren {
	switch (stateOf(stream)) {
		case "failing":
			return (
				<>
					next attempt <Time value={stream.next_attempt_at} isRelative />
				</>
			);
		case "healthy":
			return (
				<>
					until <Time value={stream.delivered_until} />
				</>
			);
		case "new":
			return "Older entries are written within minutes, new ones every hour.";
		default:
			return "Entries wait until you resume it.";
	}
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

/** Returns where the files are, in one line (docs/audit.md#files). */
export function placeOf({ id, destination: { type, config } }: AuditStream, organization: string) {
	const root = type === "S3" ? textOf(config.bucket_name) : `audit/${organization}`;
	const prefix = textOf(config.prefix).split("/").filter(Boolean).join("/");
	const parts = [root, prefix, id];
	return `${type === "S3" ? "s3://" : "R2: "}${parts.filter(Boolean).join("/")}`;
}

type More = {
	isSecret?: boolean;
	hint?: string;
	placeholder?: string;
	required?: boolean;
	defaultValue?: string;
};

function bucketField(
	name: string,
	label: string,
	defaultValue: string,
	{ isSecret = false, ...more }: More = {},
) {
	const attributes = { name: `destination__config__${name}`, label, defaultValue, ...more };
	return <Field key={name} {...(isSecret && { type: "password" })} {...attributes} />;
}

/** The fields of a bucket. Secrets are never shown. */
export function BucketFields({
	type,
	config = {},
	hasKey = false,
}: {
	type: "S3" | "R2";
	config?: Record<string, unknown>;
	/** Whether an access key is stored. Empty fields then leave it unchanged. */
	hasKey?: boolean;
}) {
	const field = (name: string, label: string, more?: More) =>
		bucketField(name, label, textOf(config[name]), more);
	const kept = hasKey ? { placeholder: "Unchanged" } : { required: true };
	const prefix = field("prefix", "Prefix", {
		placeholder: "tenantry",
		hint: "Optional. The keys of files start with it.",
	});
	if (type === "R2") return prefix;
	return (
		<>
			{field("bucket_name", "Bucket", { required: true })}
			{field("region", "Region", { required: true, placeholder: "eu-north-1" })}
			{prefix}
			{field("aws_access_key_id", "Access key ID", { ...kept, defaultValue: "" })}
			{field("aws_secret_access_key", "Secret access key", {
				...kept,
				defaultValue: "",
				isSecret: true,
				hint: "Requires s3:PutObject, and s3:GetObject so that existing objects aren’t overwritten. It is stored encrypted and never shown again.",
			})}
			<details class="settings">
				<summary>More settings</summary>
				{field("endpoint_url", "Endpoint", {
					placeholder: "https://s3.example.com",
					hint: "Only for storage other than Amazon S3.",
				})}
				<Check
					name="destination__config__use_virtual_style_addressing"
					label="Use virtual-hosted-style URLs"
					defaultChecked={config.use_virtual_style_addressing === true}
				/>
				<Select
					name="destination__config__encryption"
					label="Encryption"
					defaultValue={textOf(config.encryption)}
					options={[
						["", "The bucket’s default"],
						["AES256", "SSE-S3 (AES256)"],
						["aws:kms", "SSE-KMS (aws:kms)"],
					]}
				/>
				{field("kms_key_id", "KMS key", {
					hint: "If empty, the default key of the account is used.",
				})}
			</details>
		</>
	);
}

const ENCRYPTIONS = ["AES256", "aws:kms"] as const;

const at = (fields: FormData, name: string) => text(fields, `destination__config__${name}`);

/**
 * Returns the values of `BucketFields`. Empty optional fields are null, which removes a setting.
 */
function settingsOf(fields: FormData) {
	const encryption = at(fields, "encryption");
	return {
		bucket_name: at(fields, "bucket_name"),
		region: at(fields, "region"),
		prefix: at(fields, "prefix"),
		endpoint_url: at(fields, "endpoint_url") || null,
		kms_key_id: at(fields, "kms_key_id") || null,
		encryption: ENCRYPTIONS.find((one) => one === encryption) ?? null,
		use_virtual_style_addressing:
			fields.get("destination__config__use_virtual_style_addressing") === "on",
	};
}

const keyOf = (fields: FormData) => ({
	aws_access_key_id: at(fields, "aws_access_key_id"),
	aws_secret_access_key: at(fields, "aws_secret_access_key"),
});

export const destinationOf = (type: "S3" | "R2", fields: FormData): AuditStreamDestination =>
	type === "R2"
		? { type, config: { prefix: at(fields, "prefix") } }
		: { type, config: { ...settingsOf(fields), ...keyOf(fields) } };

/**
 * Returns the settings that differ from the stored ones, if any. An empty access key leaves the
 * stored one unchanged.
 */
export function destinationChangesOf(
	{ destination: { type, config } }: AuditStream,
	fields: FormData,
): AuditStreamDestinationUpdate | undefined {
	const given: object = destinationOf(type, fields).config;
	const changed = Object.entries(given).filter(
		([name, value]) => (value || null) !== (config[name] || null),
	);
	return changed.length > 0 ? { type, config: Object.fromEntries(changed) } : undefined;
}

const KEY = ["aws_access_key_id", "aws_secret_access_key"];

/**
 * Returns the changes for the dialog for conflicts: settings next to the other fields, access keys
 * masked.
 */
export function listed({ destination, ...others }: UpdateAuditStreamBody) {
	const settings = Object.entries(destination?.config ?? {}).map(([name, value]) => [
		name,
		KEY.includes(name) ? "New value" : value,
	]);
	return { ...others, ...Object.fromEntries(settings) };
}

/** The labels of the fields that `listed` returns. */
export const LABELS = {
	name: "Name",
	enabled: "Enabled",
	bucket_name: "Bucket",
	region: "Region",
	prefix: "Prefix",
	aws_access_key_id: "Access key ID",
	aws_secret_access_key: "Secret access key",
	endpoint_url: "Endpoint",
	use_virtual_style_addressing: "Virtual-hosted-style URLs",
	encryption: "Encryption",
	kms_key_id: "KMS key",
};

export function TrialDialog({ trial, onClose }: { trial: BatchExportTrial; onClose: () => void }) {
	const [{ success, steps }] = useState(trial);
	return (
		<Dialog title={success ? "The test succeeded" : "The test failed"} onClose={onClose}>
			<ul class="trial-steps">
				{steps.map(({ name, error, warning }) => (
					<li key={name}>
						<Badge mood={error === null ? "good" : "bad"}>{error === null ? "OK" : "Failed"}</Badge>{" "}
						{name.charAt(0).toUpperCase() + name.slice(1)}
						{error !== null && <small class="below said">{error}</small>}
						{warning !== null && <small class="below said">{warning}</small>}
					</li>
				))}
			</ul>
			<div class="buttons">
				<button type="button" onClick={onClose}>
					Close
				</button>
			</div>
		</Dialog>
	);
}
