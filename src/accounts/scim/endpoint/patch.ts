import { type ScimPatchOperation, scimPatch } from "scim-patch";
import * as z from "zod";
import { ScimError } from "../../../http/scim_errors.ts";
import { lazy } from "../../../lib/lazy.ts";
import { canonical, canonicalInner, canonicalName, type Names, parseAs } from "./resource.ts";

/*
 * PATCH (RFC 7644, section 3.5.2), as Entra and Okta send it. Only attributes that we know reach the
 * library: it follows paths such as `__proto__.x`. The others are ignored, as in a PUT.
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

type Operation = z.infer<ReturnType<typeof message>>["Operations"][number];

const PATH = /^((?:urn:[\w.:-]+:)?\w+)(?:\[([^\]]*)\])?(?:\.(\w+))?$/;
/** The filter of a path: one comparison, such as `value eq "2819c223"`. */
const COMPARISON = /^\s*(\w+) +eq +("[^"\\]*"|true|false)\s*$/i;

/** Returns an operation with the names that we know; undefined if it is about another attribute. */
function known({ op, path, value }: Operation, names: Names): ScimPatchOperation[] {
	if (!path) {
		if (op === "remove") throw new ScimError(400, "invalidPath", "A remove needs a path.");
		return withoutPath(op, value, names);
	}
	const [, attribute, filter, inner] = PATH.exec(path) ?? [];
	if (!attribute) throw new ScimError(400, "invalidPath", `The path ${path} isn't supported.`);
	const name = canonicalName(attribute, Object.keys(names));
	const innerNames = name === undefined ? [] : (names[name] ?? []);
	const innerName = inner === undefined ? undefined : canonicalName(inner, innerNames);
	if (!name || (inner !== undefined && !innerName)) return [];
	const [, compared = "", literal] = filter === undefined ? [] : (COMPARISON.exec(filter) ?? []);
	const comparedName = canonicalName(compared, innerNames);
	if (filter !== undefined && !comparedName)
		throw new ScimError(400, "invalidPath", `The filter of ${path} isn't supported.`);
	const target = `${name}${filter === undefined ? "" : `[${comparedName} eq ${literal}]`}`;
	const full = innerName ? `${target}.${innerName}` : target;
	const given = innerName ? value : canonicalInner(value, innerNames);
	if (op === "remove") {
		const isChoice = typeof value === "object" && value !== null && innerNames.length > 0;
		return [{ op, path: full, ...(isChoice && { value: given }) }];
	}
	// One member can be sent without a list around it.
	const isMember = name === "members" && filter === undefined && !Array.isArray(given);
	return [{ op, path: full, value: isMember ? [given] : given }];
}

/** Splits an operation without a path, whose keys can be paths (`name.givenName`). */
function withoutPath(op: "add" | "replace", value: unknown, names: Names): ScimPatchOperation[] {
	if (typeof value !== "object" || value === null || Array.isArray(value))
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

/** Changes the resource by the operations. Throws 400 if one of them can't be applied. */
export function apply(resource: object, operations: ScimPatchOperation[]): unknown {
	const meta = { created: new Date(0), lastModified: new Date(0) };
	try {
		return scimPatch({ schemas: [], meta, ...resource }, operations);
	} catch (error) {
		const detail = error instanceof Error ? error.message : "It can't be applied.";
		throw new ScimError(400, "invalidPath", detail);
	}
}
