/** Converts zod schemas to JSON Schemas. */
import * as z from "zod";
import { descriptionOfField } from "../../src/http/openapi.ts";
import { documentedAs } from "../../src/http/router.ts";

export type Json = Record<string, unknown>;

/** The schemas with an id, for `components.schemas`. */
export const schemas: Json = {};

/** Lists the types of a value in `anyOf` if it has several besides null: most generators of clients only take one `type`. */
function separateTypes(_key: string, value: unknown) {
	if (!(value instanceof Object && "type" in value && Array.isArray(value.type))) return value;
	const { type: types, ...rest } = value;
	const isSingle = types.filter((type) => type !== "null").length < 2;
	return isSingle ? value : { ...rest, anyOf: types.map((type) => ({ type })) };
}

/** Returns a schema in the form of the document. */
const finished = (schema: unknown): Json =>
	JSON.parse(JSON.stringify(schema).replaceAll("#/$defs/", "#/components/schemas/"), separateTypes);

const isInteger = (value: unknown) => Number.isInteger(value);

/**
 * Marks integers and 32-bit integers, and removes the bounds of safe integers. Requests also accept strings for integers and
 * booleans (docs/api.md#requests). The schema leaves them out, because clients should send numbers.
 */
function describeInteger(schema: z.core.JSONSchema.BaseSchema) {
	const types = [schema.type].flat();
	if (types.includes("integer") && types.includes("string")) {
		schema.type = "integer";
		if (schema.enum) schema.enum = schema.enum.filter(isInteger);
		delete schema.pattern;
	}
	if (types.includes("number") && schema.enum?.every(isInteger)) schema.type = "integer";
	if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
	if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
	if (schema.minimum === -(2 ** 31) && schema.maximum === 2 ** 31 - 1) schema.format = "int32";
}

/** The fields of every page (docs/api.md#pages). */
const ENVELOPE: Record<string, string> = {
	count: "How many results there are on all pages.",
	next: "The URL of the next page; null on the last.",
	previous: "The URL of the previous page; null on the first.",
	results: "The results of this page.",
};

/** The fields of a page of the event feed (docs/events.md#follow-the-feed). */
const FEED_PAGE: Record<string, string> = {
	results: "The results, oldest first.",
	next: "The URL of the next results; null if there are none yet.",
	after:
		"The position to continue from when `next` is null: send it as `after`. It is the id of the last event that was examined; null if there has never been one.",
};

const hasAll = (shape: z.ZodObject, names: object) =>
	Object.keys(names).every((name) => Object.hasOwn(shape.shape, name));

/** Adds the descriptions of an object's fields. */
function describeFields(shape: z.core.$ZodType, schema: z.core.JSONSchema.BaseSchema) {
	if (!(shape instanceof z.ZodObject)) return;
	const ofPages = [ENVELOPE, FEED_PAGE].find((names) => hasAll(shape, names)) ?? {};
	for (const [name, property] of Object.entries(schema.properties ?? {})) {
		const description = descriptionOfField(name, shape) ?? ofPages[name];
		if (!description || typeof property !== "object" || !schema.properties) continue;
		// A component is one object, wherever it is referenced. Other properties aren't complete yet.
		if (property.$ref) schema.properties[name] = { ...property, description };
		else property.description = description;
	}
}

/**
 * Returns the JSON Schema of a zod schema. Schemas with an id become components. In a request, objects that aren't strict can
 * have additional fields, and strings that can't be blank must have a character that isn't white space.
 */
export function schemaOf(shape: z.ZodType, request = false): Json {
	const { $defs, properties } = z.toJSONSchema(z.object({ shape }), {
		override: ({ zodSchema, jsonSchema }) => {
			const as = documentedAs(zodSchema);
			if (as) {
				for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
				Object.assign(jsonSchema, schemaOf(as, request));
			}
			describeInteger(jsonSchema);
			describeFields(zodSchema, jsonSchema);
			// The format implies zod's pattern, except for email addresses, for which zod's pattern is stricter.
			if (jsonSchema.format && !(request && jsonSchema.format === "email"))
				delete jsonSchema.pattern;
			if (Object.keys(jsonSchema.propertyNames ?? {}).join() === "type")
				delete jsonSchema.propertyNames;
			if (!request) return;
			const { def } = zodSchema._zod;
			if (def.type === "object" && !("catchall" in def)) delete jsonSchema.additionalProperties;
			if (jsonSchema.minLength === 1 && !jsonSchema.format) jsonSchema.pattern ??= "\\S";
		},
	});
	Object.assign(schemas, finished($defs ?? {}));
	return finished(properties?.shape);
}

const idOf = (shape: z.ZodType) => shape.meta()?.id;

const pages = new Map<string, z.ZodType>();

/**
 * Returns the schema of a response. A page gets an id, which consists of the id of its items and, if the page has the fields of
 * an object `within`, the id of the object.
 */
export function namedPage(answer: z.ZodType, within?: z.ZodType): z.ZodType {
	const results = answer instanceof z.ZodObject ? answer.shape.results : undefined;
	const item = results instanceof z.ZodArray ? results.element : undefined;
	const name = item instanceof z.ZodType ? idOf(item) : undefined;
	if (name === undefined || idOf(answer) !== undefined) return answer;
	const id = `${within ? `${idOf(within)}With` : ""}${name}Page`;
	const page = pages.get(id) ?? answer.meta({ id });
	pages.set(id, page);
	return page;
}

/** Returns the member `content` for a media type. `example` is the member `example`, if there is one. */
export const content = (
	schema: Json,
	media = "application/json",
	example: { example?: unknown } = {},
) => ({
	content: { [media]: { schema, ...example } },
});

export const text = (media: string, example?: { example?: unknown }) =>
	content({ type: "string" }, media, example);
