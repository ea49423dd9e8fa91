import type { Context } from "hono";
import type * as z from "zod";
import { retry } from "../../../access/unit_of_work.ts";
import type { App } from "../../../env.ts";
import { readValue } from "../../../http/body.ts";
import { preconditionFailed } from "../../../http/errors.ts";
import { tagOf, tagsIn } from "../../../http/etag.ts";
import { rawText } from "../../../http/fields.ts";
import { toApiError } from "../../../http/valid.ts";
import { shorten } from "../../../lib/text.ts";
import { SCIM_TYPE, ScimError } from "../errors.ts";
import { nameIn, parseFilter } from "./filter.ts";
import type { Problem } from "./problems.ts";

/* What users and groups have in common: bodies, versions, lists, chosen attributes. */

export type Resource = {
	schemas: string[];
	id: string;
	meta: {
		resourceType: string;
		created: string;
		lastModified: string;
		location: string;
		version?: string;
	};
} & Record<string, unknown>;

/** Returns the resource with its version, a hash of its content. */
export async function versioned(resource: Resource): Promise<Resource> {
	const version = `W/${await tagOf(JSON.stringify(resource))}`;
	return { ...resource, meta: { ...resource.meta, version } };
}

/** The version of a resource as in `If-Match`, which ignores whether it is weak. */
const tagIn = ({ meta }: Resource) => meta.version?.replace("W/", "") ?? "";

/** Whether a header names the version of a resource. */
const isNamed = (header: string, resource: Resource) =>
	tagsIn(header).some((tag) => tag === "*" || tag === tagIn(resource));

/** Throws 412 unless `If-Match` names the version of the resource. */
export function checkMatch(c: Context<App>, resource: Resource) {
	const header = c.req.header("if-match");
	if (header !== undefined && !isNamed(header, resource))
		throw preconditionFailed("The resource has changed: its version is not in If-Match.");
}

/** Repeats a change more often than others do: other changes must not keep access from ending. */
export const untilWritten = <T>(attempt: () => Promise<T>) => retry(attempt, { retries: 10 });

export const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The attributes of a resource, each with the names of its own attributes. */
export type Names = Record<string, readonly string[]>;

/** Returns the name in `names` that is the same in any case, without the URN of a core schema. */
export const canonicalName = (name: string, names: readonly string[]) => {
	const plain = name.replace(/^urn:ietf:params:scim:schemas:core:2\.0:(User|Group):/i, "");
	return names.find((each) => each.toLowerCase() === plain.toLowerCase());
};

const CORE_SCHEMA = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group)$/i;

/** Whether this is the name of the core schema, under which an object can have its attributes. */
export const isCoreSchema = (name: string) => CORE_SCHEMA.test(name);

/** Returns the attributes of an object, with those under the name of the core schema. */
export const attributesIn = (value: object): [string, unknown][] =>
	Object.entries(value).flatMap(([name, inner]): [string, unknown][] =>
		isCoreSchema(name) && isObject(inner) ? Object.entries(inner) : [[name, inner]],
	);

/** Returns the attributes of an object that we know, under their names: SCIM ignores their case. */
const entriesIn = (value: object, names: readonly string[]) =>
	attributesIn(value).flatMap(([key, inner]): [string, unknown][] => {
		const name = canonicalName(key, names);
		return name ? [[name, inner]] : [];
	});

const pick = (value: unknown, names: readonly string[]) =>
	isObject(value) ? Object.fromEntries(entriesIn(value, names)) : value;

/** Does this for the value of an attribute, or the list of its values. */
export function canonicalInner(value: unknown, names: readonly string[]): unknown {
	if (names.length === 0) return value;
	return Array.isArray(value) ? value.map((item) => pick(item, names)) : pick(value, names);
}

/** Does this for a body and its attributes. */
export const canonical = (body: Record<string, unknown>, names: Names): Record<string, unknown> =>
	Object.fromEntries(
		entriesIn(body, Object.keys(names)).map(([name, value]) => [
			name,
			canonicalInner(value, names[name] ?? []),
		]),
	);

/** The longest text of an attribute. */
export const MAX_TEXT_LENGTH = 255;

/** A text that can be missing. */
export const optionalText = () => rawText(MAX_TEXT_LENGTH).nullish();

/** Returns a value as `schema` has it, or what is wrong with it. */
export function check<S extends z.ZodType>(schema: S, value: unknown, name?: string) {
	const { success, data, error } = schema.safeParse(value, { reportInput: true });
	if (success) return { data };
	const [issue] = error.issues;
	if (!issue) throw error;
	const path = [...(name ? [name] : []), ...issue.path];
	const { attr, detail } = toApiError(issue, { path, input: issue.input }).body;
	return `${attr?.replaceAll("__", ".") ?? "Body"}: ${detail}`;
}

/** Parses a value. Throws 400 `invalidValue` with what is wrong. */
export function parseAs<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
	const read = check(schema, value);
	if (typeof read === "string") throw new ScimError(400, "invalidValue", read);
	return read.data;
}

/** The value of an attribute in a request, and what it stays if that isn't valid. */
type Given<T> = { name: string; value: unknown; before: T };

/** Returns the value of an attribute that decides something. */
export function take<S extends z.ZodType>(
	{ name, value, before }: Given<z.output<S>>,
	schema: S,
	problems: Problem[],
): z.output<S> {
	const read = check(schema, value, name);
	if (typeof read !== "string") return read.data;
	problems.push({ rejects: "value", detail: read });
	return before;
}

type OptionalText = string | null | undefined;

/** Returns a text that is only shown, of at most 255 characters. */
export function takeShown(
	{ name, value, before }: Given<OptionalText>,
	problems: Problem[],
): OptionalText {
	if (value === undefined || value === null) return value;
	if (typeof value !== "string") {
		problems.push({ rejects: "shown", detail: `${name}: Not a valid string.` });
		return before;
	}
	const sent = value.trim();
	const text = [...sent.replaceAll("\0", "").toWellFormed()].slice(0, MAX_TEXT_LENGTH).join("");
	if (text !== sent) problems.push({ rejects: "shown", detail: `${name}: shortened` });
	return text;
}

/** The longest name of an attribute, or path, that a message quotes. */
const MAX_QUOTED_CHARACTERS = 200;

export const quoted = (name: string) => shorten(name, MAX_QUOTED_CHARACTERS);

export const unknownAttribute = (path: string): Problem => ({
	rejects: "shown",
	detail: `${quoted(path)}: not supported`,
});

/** The attributes that a provider may send back, and can't change (RFC 7643, section 3.1). */
const READ_ONLY = ["schemas", "id", "meta", "groups"];

export const isReadOnly = (name: string) => canonicalName(name, READ_ONLY) !== undefined;

/** Returns the attributes of a body that we don't know. */
export const unknownIn = (body: Record<string, unknown>, names: Names): Problem[] =>
	attributesIn(body)
		.map(([name]) => name)
		.filter((name) => !isReadOnly(name) && !canonicalName(name, Object.keys(names)))
		.map(unknownAttribute);

/**
 * Returns the ids in the value of a list, whose items are ids or have one as `value`; undefined if
 * it has none but should.
 */
export function idsIn(name: string, value: unknown, problems: Problem[]) {
	const items = [value].flat();
	const ids = items
		.map((item) => (isObject(item) ? item.value : item))
		.filter((id) => typeof id === "string");
	if (ids.length < items.length)
		problems.push({ rejects: "request", detail: `${name}: An item has no value that is a text.` });
	return ids.length === 0 && items.length > 0
		? undefined
		: new Set(ids.map((id) => id.toLowerCase()));
}

/** Reads the body as an object. */
export async function readObject(c: Context<App>): Promise<Record<string, unknown>> {
	const value = await readValue(c, {});
	if (!isObject(value)) throw new ScimError(400, "invalidSyntax", "The body isn't an object.");
	return value;
}

const ALWAYS = ["schemas", "id"];

/**
 * Returns whether a request wants an attribute, by its path in lower case. The path of an inner one
 * is `name.givenname`.
 */
export function wanted(c: Context<App>) {
	const listed = (name: string) =>
		c.req
			.query(name)
			?.split(",")
			.map((path) => nameIn(path.trim()));
	const [included, excluded] = [listed("attributes"), listed("excludedAttributes")];
	return (path: string) => {
		const [name = ""] = path.split(".");
		if (ALWAYS.includes(name)) return true;
		return included
			? included.some((each) => each === name || each === path || each.startsWith(`${path}.`))
			: !excluded?.includes(path);
	};
}

/** Returns the attributes of a value that are wanted. `prefix` is the beginning of their paths. */
function pickWanted(value: unknown, isWanted: (path: string) => boolean, prefix = ""): unknown {
	if (Array.isArray(value)) return value.map((item) => pickWanted(item, isWanted, prefix));
	if (!isObject(value)) return value;
	const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
		const path = prefix + key.toLowerCase();
		if (!isWanted(path)) return [];
		return [[key, prefix ? inner : pickWanted(inner, isWanted, `${path}.`)]];
	});
	return Object.fromEntries(entries);
}

/** Responds with a resource and its version. */
export function respondWith(c: Context<App>, resource: Resource, status: 200 | 201 = 200) {
	c.header("ETag", resource.meta.version);
	c.header("Location", resource.meta.location);
	const known = c.req.header("if-none-match");
	if (c.req.method === "GET" && known !== undefined && isNamed(known, resource))
		return c.body(null, 304);
	return c.json(pickWanted(resource, wanted(c)), status, SCIM_TYPE);
}

/** The pages of a list that can be read: each skips the rows before it. */
const MAX_START = 100_000;
export const MAX_COUNT = 200;

/** Reads an integer of any length. Throws 400 for another text. */
function integer(c: Context<App>, name: string, otherwise: number) {
	const text = c.req.query(name) ?? String(otherwise);
	if (!/^-?\d+$/.test(text))
		throw new ScimError(400, "invalidValue", `${name} must be an integer.`);
	return Number(text);
}

/** The page of a list (RFC 7644, section 3.4.2.4). */
export function pageOf(c: Context<App>, max = MAX_COUNT) {
	const start = Math.max(1, integer(c, "startIndex", 1));
	if (start > MAX_START)
		throw new ScimError(
			400,
			"invalidValue",
			`startIndex can be at most ${MAX_START}. Use a filter.`,
		);
	const count = Math.min(max, Math.max(0, integer(c, "count", 100)));
	const filter = c.req.query("filter");
	return { start, count, filter: filter === undefined ? undefined : parseFilter(filter) };
}

/** Responds with a page of resources. */
export const respondWithList = (
	c: Context<App>,
	resources: object[],
	totalResults: number,
	startIndex = 1,
) =>
	c.json(
		{
			schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
			totalResults,
			startIndex,
			itemsPerPage: resources.length,
			Resources: pickWanted(resources, wanted(c)),
		},
		200,
		SCIM_TYPE,
	);
