/**
 * The texts of the OpenAPI document beyond shapes. Only `openapi.ts` files and build/openapi.ts
 * use this, so it isn't part of the worker.
 */
import type { Hono } from "hono";
import * as z from "zod";
import type { App } from "../env.ts";

export type OperationText = {
	/** The operation's name, unique in the document: `verb` and object in camel case. */
	id: string;
	/** A few words in the imperative. */
	summary: string;
	/** Who may do it, its side effects, and the answer, unless the names say it. */
	description: string;
	/**
	 * Codes of a 400 that the shapes of the request don't imply, each with when it happens. A code
	 * that they do imply is listed too, if the operation has a rule of its own with it.
	 */
	errors?: Record<string, string>;
};

/** A group of operations in the document. */
export type Tag = { name: string; description: string };

/** The text of a family: of each method and path of its routes `R`, no more and no fewer. */
export type OpenApi<R> = {
	tag: Tag;
	operations: { [Name in NameOf<SchemaOf<R>>]: OperationText };
};

type SchemaOf<R> = R extends Hono<App, infer S, string> ? S : never;

/** The name of an operation, such as `GET /:id`. */
type NameOf<S> = {
	[Path in keyof S & string]: keyof S[Path] extends `$${infer Method}`
		? `${Uppercase<Method>} ${Path}`
		: never;
}[keyof S & string];

/** The text of each field of an object. */
type Texts<Shape> = { [Field in keyof Shape]: Text<Shape[Field]> };

/**
 * A sentence. An object inside has a sentence and the text of its fields; if the object has an id
 * of its own, it is described apart and a sentence is enough. A choice may have text for its
 * values.
 */
type Text<Field> =
	Inner<Field> extends z.ZodObject<infer Shape>
		? string | readonly [string, Texts<Shape>]
		: Inner<Field> extends z.ZodEnum<infer Values>
			? string | readonly [string, { [Value in Values[keyof Values]]: string }]
			: string;

/** The type of a field without `optional`, `nullable`, list, record and preprocessing. */
type Inner<Field> = Field extends { _zod: { def: { innerType: infer I } } }
	? Inner<I>
	: Field extends { _zod: { def: { element: infer I } } }
		? Inner<I>
		: Field extends { _zod: { def: { valueType: infer I } } }
			? Inner<I>
			: Field extends { _zod: { def: { out: infer I } } }
				? Inner<I>
				: Field;

type Sentence = string | readonly [string, object];

type Descriptions = WeakMap<z.core.$ZodType, Map<string, string>>;

/** Descriptions by the object that has the field, and by the field, each with the field's name. */
const byShape: Descriptions = new WeakMap();
const byField: Descriptions = new WeakMap();

function remember(all: Descriptions, key: z.core.$ZodType, name: string, description: string) {
	const known = all.get(key) ?? new Map<string, string>();
	all.set(key, known.set(name, description));
}

/** Makes each field that `Given` has and `Wanted` hasn't an error. */
type NoOthers<Given, Wanted> = { [Field in Exclude<keyof Given, keyof Wanted>]: never };

/**
 * Sets the description of each field of `shape`. The compiler rejects a missing and an unknown
 * field.
 * @param base a shape that was described before and has some of the same fields: those need no text
 */
export function describe<
	Shape extends z.core.$ZodLooseShape,
	Given extends Texts<Omit<Shape, keyof Base>>,
	Base extends z.core.$ZodLooseShape = Record<never, never>,
>(
	shape: z.ZodObject<Shape>,
	texts: Given & NoOthers<Given, Omit<Shape, keyof Base>>,
	_base?: z.ZodObject<Base>,
) {
	describeFields(shape, texts);
}

function describeFields(shape: z.core.$ZodType, texts: object) {
	if (!(shape instanceof z.ZodObject)) return;
	for (const [name, text] of Object.entries<Sentence>({ ...texts })) {
		const field = bare(shape.shape[name]);
		const [sentence, details] = typeof text === "string" ? [text] : text;
		const inner = innerOf(field);
		if (details && inner instanceof z.ZodObject) describeFields(inner, details);
		const values = details && !(inner instanceof z.ZodObject) ? Object.entries(details) : [];
		const list = values.map(([value, meaning]) => `- \`${value}\`: ${meaning}`);
		const description = [sentence, list.join("\n")].filter(Boolean).join("\n\n");
		remember(byShape, shape, name, description);
		remember(byField, field, name, description);
	}
}

/**
 * The description of the field `name`. A shape that is made from others and has no text of its own
 * for a field has theirs, since it shares the field with them.
 */
export const descriptionOfField = (name: string, shape: z.ZodObject) =>
	byShape.get(shape)?.get(name) ?? byField.get(bare(shape.shape[name]))?.get(name);

/** The field without `optional` and `nullable`, which `partial()` and the like add. */
function bare(field: z.core.$ZodType): z.core.$ZodType {
	return field instanceof z.ZodOptional || field instanceof z.ZodNullable
		? bare(field.def.innerType)
		: field;
}

function innerOf(field: z.core.$ZodType): z.core.$ZodType {
	const type = bare(field);
	if (type instanceof z.ZodArray) return innerOf(type.def.element);
	if (type instanceof z.ZodRecord) return innerOf(type.def.valueType);
	if (type instanceof z.ZodPipe) return innerOf(type.def.out);
	return type;
}
