/** The kinds of destinations and their settings, as public/openapi.json describes them. */

/** A setting of a destination. */
export type Setting = {
	name: string;
	kind: "text" | "secret" | "number" | "boolean" | "choice" | "list";
	isRequired: boolean;
	/** It is required, but "" will do. */
	mayBeEmpty?: boolean;
	/** A sentence or two, for people. */
	description: string;
	/** What holds if it isn't given, such as "5432". */
	otherwise?: string;
	/** What the value may be, and what each means. Only of choices. */
	choices?: (readonly [value: string, description: string])[];
	/** Text of many lines, such as a private key. */
	isLong?: boolean;
	isUrl?: boolean;
	maxLength?: number;
	min?: number;
	max?: number;
};

/** The settings of each kind of destination. scripts/destination_settings.ts makes it when the console is built. */
declare const DESTINATION_SETTINGS: Record<string, Setting[]>;

export const settingsOf = (type: string) => DESTINATION_SETTINGS[type] ?? [];

/** What people call a setting: "Bucket name" for `bucket_name`. */
export function labelOf(name: string) {
	const words = name
		.split("_")
		.map((word) => ACRONYMS[word] ?? word)
		.join(" ");
	return words.charAt(0).toUpperCase() + words.slice(1);
}

const ACRONYMS: Record<string, string> = {
	aws: "AWS",
	cert: "certificate",
	hmac: "HMAC",
	id: "ID",
	json: "JSON",
	kms: "KMS",
	mb: "(MB)",
	sas: "SAS",
	uri: "URI",
	url: "URL",
};

/** The name of a setting's field, as errors of the service name it. */
export const fieldOf = (name: string) => `destination__config__${name}`;

/** The values of a config, by names. */
export type Config = Record<string, unknown>;

const linesOf = (value: string) =>
	value
		.split("\n")
		.map((line) => line.trim())
		.filter(Boolean);

/** What a field has: a value, or undefined if it is empty. */
function readValue({ name, kind, mayBeEmpty }: Setting, fields: FormData) {
	const field = fields.get(fieldOf(name));
	const value = typeof field === "string" ? field.trim() : "";
	switch (kind) {
		case "boolean":
			return value !== "" || undefined;
		case "number":
			return value === "" ? undefined : Number(value);
		case "list":
			return value === "" ? undefined : linesOf(value);
		default:
			return value === "" && !mayBeEmpty ? undefined : value;
	}
}

/** The config that a form describes. */
export const configOf = (type: string, fields: FormData): Config =>
	Object.fromEntries(
		settingsOf(type)
			.map((setting) => [setting.name, readValue(setting, fields)] as const)
			.filter(([, value]) => value !== undefined),
	);

/** What a form changes in a stored config. Null removes a setting; empty secrets stay as they are. */
export function changesOf(type: string, fields: FormData, stored: Config): Config {
	const changes: Config = {};
	for (const setting of settingsOf(type)) {
		const { name } = setting;
		const value = readValue(setting, fields);
		const before = stored[name] ?? undefined;
		// Secrets are never read, so an empty one looks like one that isn't stored.
		if (value === undefined && (before === undefined || before === false)) continue;
		if (JSON.stringify(value) !== JSON.stringify(before)) changes[name] = value ?? null;
	}
	return changes;
}

export const isSecret = (type: string, name: string) =>
	settingsOf(type).some((setting) => setting.name === name && setting.kind === "secret");
