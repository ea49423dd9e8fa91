/**
 * Builds packages/console/src/generated.ts and generated_settings.ts: the types of destinations of
 * exports and audit streams, and their settings as in public/openapi.json.
 */
import { readFileSync } from "node:fs";
import * as z from "zod";
import type { DestinationType, Setting } from "../packages/console/src/ui/settings.ts";
import { SINKS } from "../src/activity/audit_streams/sinks/index.ts";
import type { Configurable } from "../src/exports/destinations/definition.ts";
import { DESTINATIONS } from "../src/exports/destinations/index.ts";
import { write } from "./files.ts";

const Value = z.object({
	type: z.union([z.string(), z.array(z.string())]).optional(),
	enum: z.array(z.string()).optional(),
	format: z.string().optional(),
	pattern: z.string().optional(),
	minLength: z.int().optional(),
	maxLength: z.int().optional(),
	minimum: z.int().optional(),
	maximum: z.int().optional(),
});

const Config = z.object({
	properties: z.record(
		z.string(),
		Value.extend({ description: z.string(), anyOf: z.array(Value).optional() }),
	),
	required: z.array(z.string()).default([]),
});

const Reference = z.object({ $ref: z.string() });

const Destination = z.object({
	properties: z.object({ type: z.object({ const: z.string() }), config: Reference }),
});

const Union = z.object({ anyOf: z.array(Reference) });

const Document = z.object({
	components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});

/** The end of the descriptions of secrets. */
const SECRET = " Secret: never returned.";

/** Secrets with a higher limit, such as private keys, have several lines. */
const MAX_LINE = 4096;

/**
 * The default of a setting in its description: "…; null for one file per run.", "…; 5432 by
 * default."
 */
const OTHERWISE = /; (?:null for )?(.+?)(?: by default)?\./;
const HAS_OTHERWISE = /; null for |; \S+ by default\./;

/** Returns the first paragraph of a description, and the texts about each choice below it. */
function textsOf(description: string) {
	const [first = "", ...others] = description.split("\n\n");
	const choices = new Map(
		[...others.join("\n").matchAll(/^- `([^`]+)`: (.+)$/gm)].map(([, name = "", text = ""]) => [
			name,
			text,
		]),
	);
	const text = first.replace(SECRET, "");
	const otherwise = HAS_OTHERWISE.test(text) ? OTHERWISE.exec(text)?.[1] : undefined;
	return {
		text: otherwise === undefined ? text : text.replace(OTHERWISE, "."),
		otherwise: otherwise?.replaceAll("`", ""),
		isSecret: first.endsWith(SECRET),
		choices,
	};
}

function settingOf(
	name: string,
	schema: z.infer<typeof Config>["properties"][string],
	isRequired: boolean,
): Setting {
	const { text, otherwise, isSecret, choices } = textsOf(schema.description);
	const value = schema.anyOf?.find(({ type }) => type !== "null") ?? schema;
	const { enum: values, format, pattern, minLength, maxLength, minimum, maximum } = value;
	const [type] = [value.type].flat();
	const kinds = { boolean: "boolean", integer: "number", array: "list" } as const;
	const kind = type === "boolean" || type === "integer" || type === "array" ? kinds[type] : "text";
	const takesNothing = !minLength && format !== "uri" && new RegExp(pattern ?? "").test("");
	return {
		name,
		kind: isSecret ? "secret" : values ? "choice" : kind,
		isRequired,
		description: text,
		...(otherwise !== undefined && otherwise !== "false" && { otherwise }),
		...(values && { choices: values.map((one) => [one, choices.get(one) ?? ""] as const) }),
		...(maxLength !== undefined && maxLength > MAX_LINE && { isLong: true }),
		...(isRequired && takesNothing && { mayBeEmpty: true }),
		...(format === "uri" && { isUrl: true }),
		...(maxLength !== undefined && { maxLength }),
		...(minimum !== undefined && { min: minimum }),
		...(maximum !== undefined && { max: maximum }),
	};
}

/** Returns the settings of each type in a union of the document. */
function readSettings(union: string): Record<string, Setting[]> {
	const text = readFileSync(`${import.meta.dirname}/../public/openapi.json`, "utf8");
	const { schemas } = Document.parse(JSON.parse(text)).components;
	const find = ({ $ref }: z.infer<typeof Reference>) => schemas[$ref.split("/").at(-1) ?? ""];
	return Object.fromEntries(
		Union.parse(schemas[union]).anyOf.map((reference) => {
			const { type, config } = Destination.parse(find(reference)).properties;
			const { properties, required } = Config.parse(find(config));
			return [
				type.const,
				Object.entries(properties).map(([name, schema]) =>
					settingOf(name, schema, required.includes(name)),
				),
			];
		}),
	);
}

/** Adds to which way to sign in the settings belong, for destinations that can have a role. */
function withWays(settings: Setting[], { role, required = [] }: Facts): Setting[] {
	if (!role) return settings;
	const [first] = role.settings;
	const ofKey = [...role.replaces, ...(role.excludes ?? []), ...required];
	return settings.map((setting) => {
		const { name } = setting;
		// A setting of both ways, such as a service account, is always shown.
		const isOfKey = ofKey.includes(name);
		const isOfRole = role.settings.includes(name);
		const isShared = required.includes(name) && !role.replaces.includes(name);
		const isRequiredForWay = name === first || (required.includes(name) && !isShared);
		if (isShared || (!isOfKey && !isOfRole)) return setting;
		return {
			...setting,
			way: isOfRole ? "role" : "key",
			...(isRequiredForWay && { isRequiredForWay }),
		};
	});
}

/** The order of the types in forms. */
const KINDS = ["files", "database", "receiver", "nothing"];

type Facts = Omit<DestinationType, "isOwn"> &
	Pick<Configurable, "role" | "required"> & { isOwn?: boolean };

/** Returns the types of destinations, with the service's own bucket first. */
function typesOf(
	definitions: Record<string, Facts>,
	union: string,
): Record<string, DestinationType & { settings: Setting[] }> {
	const settings = readSettings(union);
	const types = Object.entries(definitions).map(([type, definition]) => {
		const { title, kind, isOwn = false, place, test } = definition;
		return {
			...{ type, title, kind, isOwn, place, test },
			settings: withWays(settings[type] ?? [], definition),
		};
	});
	const rankOf = ({ isOwn, kind }: DestinationType) => (isOwn ? -1 : KINDS.indexOf(kind));
	types.sort((a, b) => rankOf(a) - rankOf(b) || (a.title < b.title ? -1 : 1));
	return Object.fromEntries(types.map(({ type, ...facts }) => [type, facts]));
}

/** The types of destinations of exports. */
export const destinationTypes = () => typesOf(DESTINATIONS, "BatchExportDestination");

/** The types of destinations of audit streams. */
export const sinkTypes = () => typesOf(SINKS, "AuditStreamDestination");

/** Returns the modules with the types, and with the settings of each type. */
function modulesOf(all: Record<string, ReturnType<typeof typesOf>>) {
	const modules = { types: "", settings: "" };
	for (const [name, types] of Object.entries(all)) {
		const facts = Object.entries(types).map(([type, { settings: _, ...more }]) => [type, more]);
		const settings = Object.entries(types).map(([type, { settings }]) => [type, settings]);
		const constant = (of: string, entries: unknown[][]) =>
			`export const ${name}_${of} = ${JSON.stringify(Object.fromEntries(entries))} as const;\n`;
		modules.types += constant("TYPES", facts);
		modules.settings += constant("SETTINGS", settings);
	}
	return modules;
}

if (import.meta.main) {
	const { types, settings } = modulesOf({ DESTINATION: destinationTypes(), SINK: sinkTypes() });
	write("packages/console/src/generated.ts", types);
	write("packages/console/src/generated_settings.ts", settings);
}
