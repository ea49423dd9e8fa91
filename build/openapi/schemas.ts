/** Converts zod schemas to JSON Schemas. */
import * as z from "zod";
import { documentedAs, notApplied, type Operation } from "../../src/http/router.ts";

export type Json = Record<string, unknown>;

/** The schemas with an id, for `components.schemas`. */
export const schemas: Json = {};

/**
 * Lists the types of a value in `anyOf` if it has several besides null: most generators of clients
 * only take one `type`.
 */
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
 * Marks integers and 32-bit integers, and removes the bounds of safe integers. Requests also accept
 * strings for integers and booleans (docs/api.md#requests). The schema leaves them out, because
 * clients should send numbers.
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

const NOT_APPLIED = "Ignored: it is validated, but not applied.";

/** Marks the fields of a body that its operation ignores. */
function markIgnored({ properties = {} }: z.core.JSONSchema.BaseSchema, names: readonly string[]) {
	for (const name of names) {
		const field = properties[name];
		if (typeof field === "object")
			properties[name] = { ...field, readOnly: true, description: NOT_APPLIED };
	}
}

/**
 * Returns the JSON Schema of a zod schema. Schemas with an id become components. In a request,
 * objects that aren't strict can have additional fields, and strings that can't be blank must have
 * a character that isn't white space.
 */
export function schemaOf(shape: z.ZodType, request = false): Json {
	const { $defs, properties } = z.toJSONSchema(z.object({ shape }), {
		override: ({ zodSchema, jsonSchema }) => {
			const as = documentedAs(zodSchema);
			if (as) {
				const { description } = jsonSchema;
				for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
				Object.assign(jsonSchema, schemaOf(as, request), description && { description });
			}
			// Otherwise, zod doesn't write a nullable field as a list of types (orNull).
			if (jsonSchema.description === undefined) delete jsonSchema.description;
			describeInteger(jsonSchema);
			// The format implies zod's pattern, except for email addresses, for which zod's pattern is
			// stricter.
			if (jsonSchema.format && !(request && jsonSchema.format === "email"))
				delete jsonSchema.pattern;
			if (Object.keys(jsonSchema.propertyNames ?? {}).join() === "type")
				delete jsonSchema.propertyNames;
			if (!request) return;
			markIgnored(jsonSchema, notApplied(zodSchema));
			const { def } = zodSchema._zod;
			if (def.type === "object" && !("catchall" in def)) delete jsonSchema.additionalProperties;
			if (jsonSchema.minLength === 1 && !jsonSchema.format) jsonSchema.pattern ??= "\\S";
		},
	});
	Object.assign(schemas, finished($defs ?? {}));
	return finished(properties?.shape);
}

const idOf = (shape: z.ZodType) => shape.meta()?.id;

/** The fields of a page (docs/api.md#pages). */
const envelopeOf = (item: z.ZodType) => ({
	count: z.int().describe("How many results there are on all pages."),
	next: z.url().nullable().describe("The URL of the next page; null on the last."),
	previous: z.url().nullable().describe("The URL of the previous page; null on the first."),
	results: z.array(item).describe("The results of this page."),
});

/** The fields of a page of a feed (docs/events.md#follow-the-feed). */
const feedOf = (item: z.ZodType) =>
	z.object({
		results: z.array(item).describe("The results, oldest first."),
		next: z.url().nullable().describe("The URL of the next results; null if there are none yet."),
		after: z
			.guid()
			.nullable()
			.describe(
				"The position to continue from when `next` is null: send it as `after`. It is the id of the last event that was examined; null if there has never been one.",
			),
	});

/** Returns a field that can also be null. The description belongs to the whole. */
const orNull = (field: z.ZodType) =>
	field
		.meta({ ...field.meta(), description: undefined })
		.nullable()
		.describe(field.description ?? "");

function fieldsOf({ within, nullable }: Operation) {
	const fields = Object.entries<z.ZodType>(within?.shape ?? {});
	return Object.fromEntries(
		fields.map(([name, field]) => [name, nullable ? orNull(field) : field]),
	);
}

const pages = new Map<string, z.ZodType>();

/**
 * Returns the schema of an operation's JSON response. A page gets an id, which consists of the id of
 * its items and, if the page has the fields of an object `within`, the id of the object.
 */
export function responseOf(operation: Operation): z.ZodType | undefined {
	const { response, page, feed, within } = operation;
	const item = page ?? feed;
	if (!item) return response;
	const answer = feed ? feedOf(feed) : z.object({ ...fieldsOf(operation), ...envelopeOf(item) });
	const name = idOf(item);
	if (name === undefined) return answer;
	const id = `${within ? `${idOf(within)}With` : ""}${name}Page`;
	const known = pages.get(id) ?? answer.meta({ id });
	pages.set(id, known);
	return known;
}

/**
 * Returns the paths of all fields without a description in a part of the document.
 * @param path where the part is, such as `Invite`
 */
export function undescribed(part: unknown, path: string): string[] {
	if (!(part instanceof Object)) return [];
	const below = Object.entries(part).flatMap(([name, value]) =>
		name === "properties" || name === "example" ? [] : undescribed(value, path),
	);
	if (!("properties" in part && part.properties instanceof Object)) return below;
	const fields = Object.entries(part.properties).flatMap(([name, field]) => [
		...("description" in field ? [] : [`${path}.${name}`]),
		...undescribed(field, `${path}.${name}`),
	]);
	return [...fields, ...below];
}

/**
 * Returns the member `content` for a media type. `example` is the member `example`, if there is
 * one.
 */
export const content = (
	schema: Json,
	media = "application/json",
	example: { example?: unknown } = {},
) => ({
	content: { [media]: { schema, ...example } },
});

export const text = (media: string, example?: { example?: unknown }) =>
	content({ type: "string" }, media, example);
