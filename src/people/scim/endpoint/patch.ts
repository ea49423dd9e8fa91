import type { Filter } from "scim2-parse-filter";
import * as z from "zod";
import { lazy } from "../../../lib/lazy.ts";
import type { ScimType } from "../errors.ts";
import { parsePathFilter } from "./filter.ts";
import type { Problem } from "./problems.ts";
import {
	attributesIn,
	canonical,
	canonicalInner,
	canonicalName,
	check,
	idsIn,
	isCoreSchema,
	isObject,
	isReadOnly,
	type Names,
	parseAs,
	quoted,
	unknownAttribute,
} from "./resource.ts";

/* PATCH (RFC 7644, section 3.5.2), as Entra and Okta send it. */

const message = lazy(() => z.object({ Operations: z.array(z.unknown()).min(1) }));

const sent = lazy(() =>
	z.object({
		op: z
			.string()
			.toLowerCase()
			.pipe(z.enum(["add", "remove", "replace"])),
		path: z.string().nullish(),
		value: z.unknown().optional(),
	}),
);

type Sent = z.infer<ReturnType<typeof sent>>;

/** An operation on an attribute that we know. */
type Operation = {
	op: Sent["op"];
	name: string;
	/** The inner attribute: `givenName` in the path `name.givenName`. */
	inner: string | undefined;
	value: unknown;
	/** The items of a list that the value or the path names; undefined if neither names any. */
	ids: Set<string> | undefined;
};

/** The operations of a PATCH on attributes that we know, and what can't be carried out. */
type Patch = { operations: Operation[]; problems: Problem[] };

const PATH = /^((?:urn:[\w.:-]+:)?\w+)(?:\[([^\]]*)\])?(?:\.(\w+))?$/;

/** The items that a path names: `a` and `b` in `members[value eq "a" or value eq "b"]`. */
function idsOf(filter: Filter | undefined): Set<string> | undefined {
	if (filter?.op === "eq" && "compValue" in filter) {
		const isId = filter.attrPath.toLowerCase() === "value" && typeof filter.compValue === "string";
		return isId ? new Set([String(filter.compValue).toLowerCase()]) : undefined;
	}
	if (filter?.op !== "or" || !("filters" in filter)) return undefined;
	const ids = new Set<string>();
	for (const part of filter.filters) {
		const named = idsOf(part);
		if (!named) return undefined;
		for (const id of named) ids.add(id);
	}
	return ids;
}

const isAbsent = (value: unknown) => value === undefined || value === null;

/** Reads one operation into `patch`. */
function readOperation({ op, path, value }: Sent, names: Names, patch: Patch) {
	const reject = (scim_type: ScimType, detail: string) => {
		patch.problems.push({ rejects: "request", scim_type, detail });
	};
	if (op !== "remove" && value === undefined)
		return reject("invalidValue", `The operation ${op} needs a value.`);
	if (!path || isCoreSchema(path)) {
		if (op === "remove") return reject("invalidPath", "A remove needs a path.");
		if (!isObject(value))
			return reject("invalidValue", "Without a path, the value must be an object.");
		return readWithoutPath(op, value, names, patch);
	}
	const unsupported = () =>
		reject("invalidPath", `The path ${quoted(path)} isn't supported for this operation.`);
	const [, attribute, filter, innerPath] = PATH.exec(path) ?? [];
	if (!attribute) return unsupported();
	const name = canonicalName(attribute, Object.keys(names));
	const innerNames = names[name ?? ""] ?? [];
	const inner = innerPath === undefined ? undefined : canonicalName(innerPath, innerNames);
	if (!name || (innerPath !== undefined && !inner)) {
		patch.problems.push(unknownAttribute(path));
		return;
	}
	// An attribute whose items have a `value` is a list.
	if (innerNames.includes("value")) {
		if (filter !== undefined && op !== "remove") return unsupported();
		const named = filter === undefined ? undefined : idsOf(parsePathFilter(filter));
		if (filter !== undefined && !named) return unsupported();
		const ids = named ?? (isAbsent(value) ? undefined : idsIn(name, value, patch.problems));
		if (ids || isAbsent(value)) patch.operations.push({ op, name, inner, value, ids });
		return;
	}
	if (filter !== undefined) return unsupported();
	const given = op === "remove" ? null : canonicalInner(value, innerNames);
	patch.operations.push({ op, name, inner, value: given, ids: undefined });
}

/** Reads an operation without a path, whose keys can be paths (`name.givenName`). */
function readWithoutPath(op: "add" | "replace", value: object, names: Names, patch: Patch) {
	for (const [path, inner] of attributesIn(value)) {
		if (isReadOnly(path)) continue;
		// The objects of extensions.
		if (!PATH.test(path) || path.includes("[") || isCoreSchema(path))
			patch.problems.push(unknownAttribute(path));
		else readOperation({ op, path, value: inner }, names, patch);
	}
}

/** Reads the operations of a PATCH. Throws 400 if it has none. */
export function readPatch(body: Record<string, unknown>, names: Names): Patch {
	const { Operations } = parseAs(
		message(),
		canonical(body, { Operations: ["op", "path", "value"] }),
	);
	const patch: Patch = { operations: [], problems: [] };
	for (const [i, operation] of Operations.entries()) {
		const read = check(sent(), operation, `Operations.${i}`);
		if (typeof read === "string") patch.problems.push({ rejects: "request", detail: read });
		else readOperation(read.data, names, patch);
	}
	return patch;
}

/**
 * Changes the attributes of a resource.
 * @param resource lists are sets of the ids of their items
 */
export function apply(resource: Record<string, unknown>, { operations }: Patch) {
	const after = Object.fromEntries(
		Object.entries(resource).map(([name, value]) => [
			name,
			value instanceof Set ? new Set(value) : value,
		]),
	);
	for (const operation of operations) {
		const before = after[operation.name];
		if (before instanceof Set) changeList(before, operation);
		else after[operation.name] = changeValue(before, operation);
	}
	return after;
}

function changeValue(before: unknown, { inner, value }: Operation) {
	if (inner === undefined)
		return isObject(before) && isObject(value) ? { ...before, ...value } : value;
	return { ...(isObject(before) ? before : {}), [inner]: value };
}

function changeList(list: Set<unknown>, { op, ids }: Operation) {
	if (op === "replace" || (op === "remove" && !ids)) list.clear();
	for (const id of ids ?? [])
		if (op === "remove") list.delete(id);
		else list.add(id);
}
