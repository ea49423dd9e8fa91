/** Types of destinations and their settings, from the OpenAPI document. */
import { TenantryError } from "tenantry-client";
import { linesOf } from "./lines.ts";

/** How an export signs in to a destination that can have a role. */
export type Way = "key" | "role";

/** A setting of a destination. */
export type Setting = {
	name: string;
	kind: "text" | "secret" | "number" | "boolean" | "choice" | "list";
	isRequired: boolean;
	/** It belongs to one of the two ways to sign in: with a stored key, or as a role. */
	way?: Way;
	/** It is required for its way. */
	isRequiredForWay?: true;
	/** The setting is required, but can be "". */
	mayBeEmpty?: boolean;
	/** The description in the form. */
	description: string;
	/** The default, such as "5432". */
	otherwise?: string;
	/** The values of a choice with their descriptions. */
	choices?: readonly (readonly [value: string, description: string])[];
	/** The value has several lines, such as a private key. */
	isLong?: boolean;
	isUrl?: boolean;
	maxLength?: number;
	min?: number;
	max?: number;
};

/** A type of destination (src/exports/destinations/definition.ts). */
export type DestinationType = {
	title: string;
	kind: string;
	/** It is the service's own bucket. */
	isOwn: boolean;
	/** The setting that says where rows go. */
	place: string | null;
	/** The steps of a test, in order. */
	test: readonly string[];
};

/** Returns the functions about the types of one kind of object, such as exports. */
export function typesIn(known: Readonly<Record<string, DestinationType>>) {
	const typeOf = (type: string) => known[type];
	return {
		/** The types and their names. */
		TYPES: Object.entries(known).map(([type, { title }]) => [type, title] as const),
		typeOf,
		wordsOfType: (type: string) => typeOf(type)?.title ?? type,
		/** Returns the location of a destination, such as the name of a bucket; "" if there is none. */
		placeOf({ type, config }: { type: string; config: Config }) {
			const value = config[typeOf(type)?.place ?? ""];
			return typeof value === "string" ? value : "";
		},
	};
}

/** Returns the functions about the settings of each type. Only forms need them. */
export function settingsIn(known: Readonly<Record<string, readonly Setting[]>>) {
	const settingsOf = (type: string) => known[type] ?? [];
	return {
		settingsOf,
		isSecret: (type: string, name: string) =>
			settingsOf(type).some((setting) => setting.name === name && setting.kind === "secret"),
	};
}

/** Returns the label of a setting: "Bucket name" for `bucket_name`. */
export function labelOf(name: string) {
	const words = name
		.split("_")
		.map((word) => ACRONYMS[word] ?? word)
		.join(" ");
	return words.charAt(0).toUpperCase() + words.slice(1);
}

const ACRONYMS: Record<string, string> = {
	api: "API",
	arn: "ARN",
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

/** Returns the name of a field, which is the `attr` of its errors. */
export const fieldOf = (name: string) => `destination__config__${name}`;

/** The values of settings by name. */
export type Config = Record<string, unknown>;

/** Returns the value of a field; undefined if it is empty. */
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

export const configOf = (settings: readonly Setting[], fields: FormData): Config =>
	Object.fromEntries(
		settings
			.map((setting) => [setting.name, readValue(setting, fields)] as const)
			.filter(([, value]) => value !== undefined),
	);

/**
 * Returns the changes to a stored config. Null removes a setting. An empty secret leaves the stored
 * one unchanged.
 */
export function changesOf(settings: readonly Setting[], fields: FormData, stored: Config): Config {
	const changes: Config = {};
	for (const setting of settings) {
		const { name } = setting;
		const value = readValue(setting, fields);
		const before = stored[name] ?? undefined;
		// The API doesn't return secrets, so `before` of a stored secret is undefined too.
		if (value === undefined && (before === undefined || before === false)) continue;
		if (JSON.stringify(value) !== JSON.stringify(before)) changes[name] = value ?? null;
	}
	return changes;
}

/**
 * Sends a request about a destination. If an error names a setting only in its message, adds the
 * name of the field, so that the form shows the error next to it.
 */
export async function besideSettings<T>(
	settings: readonly Setting[],
	request: () => Promise<T>,
): Promise<T> {
	try {
		return await request();
	} catch (error) {
		if (!(error instanceof TenantryError) || error.attr !== "destination") throw error;
		const [, name = ""] = /'(\w+)'/.exec(error.detail) ?? [];
		const isSetting = settings.some((setting) => setting.name === name);
		throw new TenantryError({
			type: error.type,
			code: error.code,
			detail: error.detail,
			status: error.status,
			headers: error.headers,
			attr: isSetting ? fieldOf(name) : null,
		});
	}
}
