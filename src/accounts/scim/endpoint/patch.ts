import * as z from "zod";
import { ScimError } from "../../../http/scim_errors.ts";
import { lazy } from "../../../lib/lazy.ts";
import {
	canonical,
	canonicalInner,
	canonicalName,
	isObject,
	type Names,
	parseAs,
} from "./resource.ts";

/*
 * PATCH (RFC 7644, section 3.5.2), as Entra and Okta send it. Operations on attributes that we don't
 * know are ignored, as in a PUT.
 */

const MAX_OPERATIONS = 100;

const message = lazy(() =>
	z.object({
		Operations: z
			.array(
				z.object({
					op: z
						.string()
						.toLowerCase()
						.pipe(z.enum(["add", "remove", "replace"])),
					path: z.string().max(500).nullish(),
					value: z.unknown().optional(),
				}),
			)
			.min(1)
			.max(MAX_OPERATIONS),
	}),
);

type Sent = z.infer<ReturnType<typeof message>>["Operations"][number];

/** An operation on an attribute that we know. */
export type Operation = {
	op: Sent["op"];
	path: string;
	name: string;
	/** The inner attribute: `givenName` in the path `name.givenName`. */
	inner: string | undefined;
	/** The item of a list: `2819c223` in the path `members[value eq "2819c223"]`. */
	item: string | undefined;
	value: unknown;
};

const PATH = /^((?:urn:[\w.:-]+:)?\w+)(?:\[([^\]]*)\])?(?:\.(\w+))?$/;
const ITEM = /^\s*value +eq +"([^"\\]*)"\s*$/i;

const unsupported = (path: string) =>
	new ScimError(400, "invalidPath", `The path ${path} isn't supported for this operation.`);

/** Returns an operation with the names that we know; none if it is about another attribute. */
function known({ op, path, value }: Sent, names: Names): Operation[] {
	if (op !== "remove" && value === undefined)
		throw new ScimError(400, "invalidValue", `The operation ${op} needs a value.`);
	if (!path) {
		if (op === "remove") throw new ScimError(400, "invalidPath", "A remove needs a path.");
		return withoutPath(op, value, names);
	}
	const [, attribute, filter, innerPath] = PATH.exec(path) ?? [];
	if (!attribute) throw unsupported(path);
	const name = canonicalName(attribute, Object.keys(names));
	if (!name) return [];
	const innerNames = names[name] ?? [];
	const inner = innerPath === undefined ? undefined : canonicalName(innerPath, innerNames);
	if (innerPath !== undefined && !inner) return [];
	const item = filter === undefined ? undefined : ITEM.exec(filter)?.[1];
	if (filter !== undefined && item === undefined) throw unsupported(path);
	return [{ op, path, name, inner, item, value: canonicalInner(value, innerNames) }];
}

/** Splits an operation without a path, whose keys can be paths (`name.givenName`). */
function withoutPath(op: "add" | "replace", value: unknown, names: Names): Operation[] {
	if (!isObject(value))
		throw new ScimError(400, "invalidValue", "Without a path, the value must be an object.");
	return Object.entries(value).flatMap(([path, inner]) => {
		// `schemas`, and the objects of extensions.
		if (!PATH.test(path) || path.includes("[")) return [];
		return known({ op, path, value: inner }, names);
	});
}

/** Reads the operations of a PATCH. */
export function readOperations(body: Record<string, unknown>, names: Names) {
	const { Operations } = parseAs(
		message(),
		canonical(body, { Operations: ["op", "path", "value"] }),
	);
	return Operations.flatMap((operation) => known(operation, names));
}

/** Changes the attributes of a resource. Throws 400 if an operation can't be applied to them. */
export function apply(resource: Record<string, unknown>, operations: Operation[]) {
	const after = { ...resource };
	for (const operation of operations) {
		const before = after[operation.name];
		after[operation.name] = Array.isArray(before)
			? changeList(before, operation)
			: changeValue(before, operation);
	}
	return after;
}

function changeValue(before: unknown, { op, path, inner, item, value }: Operation) {
	if (item !== undefined) throw unsupported(path);
	const set = op === "remove" ? undefined : value;
	if (inner === undefined) return isObject(before) && isObject(set) ? { ...before, ...set } : set;
	return { ...(isObject(before) ? before : {}), [inner]: set };
}

/** What identifies an item of a list, in any case. */
const idOf = (item: unknown) => String(isObject(item) ? item.value : item).toLowerCase();

function changeList(before: unknown[], { op, path, inner, item, value }: Operation) {
	if (inner !== undefined || (item !== undefined && op !== "remove")) throw unsupported(path);
	const given = [value ?? []].flat();
	if (op === "add") return [...before, ...given];
	if (op === "replace") return given;
	if (item === undefined && value === undefined) return [];
	const removed = new Set([item ?? given].flat().map(idOf));
	return before.filter((each) => !removed.has(idOf(each)));
}
