/**
 * Builds test/activity/audit_streams/ocsf_1_5_0.json: a JSON Schema of the classes that audit
 * streams use, from a copy of the Open Cybersecurity Schema Framework:
 *
 *     git clone --branch v1.5.0 https://github.com/ocsf/ocsf-schema /tmp/ocsf
 *     node build/ocsf.ts /tmp/ocsf
 *
 * It is stricter than the framework: it rejects unknown attributes, those of profiles, deprecated
 * ones, and objects that aren't in `OBJECTS`.
 */
import { existsSync, readFileSync } from "node:fs";
import * as z from "zod";
import { write } from "./files.ts";

const VERSION = "1.5.0";

const CLASSES = [
	["iam", "account_change"],
	["iam", "authentication"],
	["iam", "user_access"],
	["application", "api_activity"],
] as const;

/** The objects that may be used. */
const OBJECTS = [
	"account",
	"actor",
	"api",
	"http_request",
	"key_value_object",
	"location",
	"metadata",
	"network_endpoint",
	"organization",
	"product",
	"request",
	"resource_details",
	"response",
	"service",
	"session",
	"url",
	"user",
];

const Enum = z.record(z.string(), z.object({ caption: z.string() }));

const Attribute = z.object({
	type: z.string().optional(),
	is_array: z.boolean().optional(),
	requirement: z.enum(["required", "recommended", "optional"]).optional(),
	profile: z.string().nullable().optional(),
	enum: Enum.optional(),
	"@deprecated": z.unknown().optional(),
});

const Part = z.object({
	name: z.string(),
	uid: z.int().optional(),
	category: z.string().optional(),
	extends: z.string().optional(),
	attributes: z.record(z.string(), z.unknown()).default({}),
	constraints: z.object({ at_least_one: z.array(z.string()).optional() }).optional(),
});

const Type = z.object({
	type: z.string().optional(),
	regex: z.string().optional(),
	max_len: z.int().optional(),
});

const Dictionary = z.object({
	attributes: z.record(z.string(), Attribute),
	types: z.object({ attributes: z.record(z.string(), Type) }),
});

const Categories = z.object({ attributes: z.record(z.string(), z.object({ uid: z.int() })) });

const Version = z.object({ version: z.literal(VERSION) });

type Attributes = Record<string, z.infer<typeof Attribute>>;

type Resolved = Omit<z.infer<typeof Part>, "attributes"> & { attributes: Attributes };

const BASIC: Record<string, object> = {
	boolean_t: { type: "boolean" },
	float_t: { type: "number" },
	integer_t: { type: "integer" },
	json_t: {},
	long_t: { type: "integer" },
	string_t: { type: "string" },
};

function compile(folder: string) {
	const read = (path: string): unknown =>
		JSON.parse(readFileSync(`${folder}/${path}.json`, "utf8"));
	Version.parse(read("version"));
	const dictionary = Dictionary.parse(read("dictionary"));
	const categories = Categories.parse(read("categories")).attributes;

	/** Returns a class or an object with what it inherits. */
	function resolve(kind: "events" | "objects", path: string): Resolved {
		const part = Part.parse(read(`${kind}/${path}`));
		const attributes: Attributes = {};
		const own = Object.entries(part.attributes).filter(([name]) => name !== "$include");
		const base = part.extends ? resolve(kind, placeOf(kind, part.extends)) : null;
		Object.assign(attributes, base?.attributes);
		for (const [name, value] of own) {
			const { enum: values, ...attribute } = Attribute.parse(value);
			const inherited = attributes[name];
			attributes[name] = {
				...inherited,
				...attribute,
				...(values && { enum: { ...inherited?.enum, ...values } }),
			};
		}
		return {
			...part,
			category: part.category ?? base?.category,
			constraints: part.constraints ?? base?.constraints,
			attributes,
		};
	}

	const placeOf = (kind: string, name: string) =>
		[name, `iam/${name}`, `application/${name}`].find((path) =>
			existsSync(`${folder}/${kind}/${path}.json`),
		) ?? name;

	function typeOf(name: string): object | null {
		const basic = BASIC[name];
		if (basic) return basic;
		const type = dictionary.types.attributes[name];
		if (type)
			return {
				...typeOf(type.type ?? "string_t"),
				...(type.regex !== undefined && { pattern: type.regex }),
				...(type.max_len !== undefined && { maxLength: type.max_len }),
			};
		if (name === "object") return { type: "object" };
		return OBJECTS.includes(name) ? { $ref: `#/$defs/${name}` } : null;
	}

	/** Returns the schema of an attribute; null if it may not be used. */
	function attributeOf(name: string, attribute: z.infer<typeof Attribute>) {
		const about = dictionary.attributes[name];
		if (attribute.profile || attribute["@deprecated"] !== undefined) return null;
		const type = typeOf(attribute.type ?? about?.type ?? "string_t");
		if (type === null) return null;
		const values = Object.keys(attribute.enum ?? about?.enum ?? {});
		const isText = "type" in type && type.type === "string";
		const one =
			values.length > 0
				? { ...type, enum: isText ? values : values.map((value) => Number(value)) }
				: type;
		return (attribute.is_array ?? about?.is_array) ? { type: "array", items: one } : one;
	}

	function schemaOf({ attributes, constraints }: Resolved) {
		const known = Object.entries(attributes).flatMap(([name, attribute]) => {
			const schema = attributeOf(name, attribute);
			return schema ? [[name, schema] as const] : [];
		});
		const required = Object.entries(attributes).filter(
			([, { requirement, profile }]) => requirement === "required" && !profile,
		);
		const oneOf = constraints?.at_least_one?.map((name) => ({ required: [name] }));
		return {
			type: "object",
			properties: Object.fromEntries(known),
			required: required.map(([name]) => name),
			additionalProperties: false,
			...(oneOf && { anyOf: oneOf }),
		};
	}

	const classes = CLASSES.map(([folderName, name]) => {
		const { uid = 0, ...part } = resolve("events", `${folderName}/${name}`);
		const category = categories[part.category ?? ""]?.uid ?? 0;
		const class_uid = category * 1000 + uid;
		const schema = schemaOf(part);
		const activities = Object.keys(part.attributes.activity_id?.enum ?? {}).map(Number);
		return [
			String(class_uid),
			{
				...schema,
				properties: {
					...schema.properties,
					category_uid: { const: category },
					class_uid: { const: class_uid },
				},
				oneOf: activities.map((id) => ({
					properties: {
						activity_id: { const: id },
						type_uid: { const: class_uid * 100 + id },
					},
				})),
			},
		];
	});
	return {
		$schema: "https://json-schema.org/draft/2020-12/schema",
		$comment: `Made by build/ocsf.ts from https://github.com/ocsf/ocsf-schema ${VERSION}, copyright OCSF a Series of LF Projects, LLC, under the Apache License 2.0 (https://www.apache.org/licenses/LICENSE-2.0).`,
		classes: Object.fromEntries(classes),
		$defs: Object.fromEntries(OBJECTS.map((name) => [name, schemaOf(resolve("objects", name))])),
	};
}

if (import.meta.main)
	write(
		"test/activity/audit_streams/ocsf_1_5_0.json",
		`${JSON.stringify(compile(process.argv[2] ?? ""), null, "\t")}\n`,
	);
