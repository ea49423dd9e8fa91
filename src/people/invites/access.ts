import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import type { ProjectAccess } from "../../db/schema/people.ts";
import { integer } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";

const MAX_ENTRIES = 100;

const LEVELS = new Map<unknown, number>([
	[MEMBER, MEMBER],
	[String(MEMBER), MEMBER],
	["member", MEMBER],
	[ADMIN, ADMIN],
	[String(ADMIN), ADMIN],
	["admin", ADMIN],
]);

/** Returns the level of an entry as a number. */
export const levelOf = ({ level }: ProjectAccess) => LEVELS.get(level) ?? MEMBER;

/** Returns the first error in `private_project_access`, if any (docs/organizations.md#invites). */
function findError(list: unknown) {
	if (!Array.isArray(list)) return "The field must be a list of dictionaries.";
	if (list.length > MAX_ENTRIES)
		return `Ensure this field has no more than ${MAX_ENTRIES} elements.`;
	for (const item of list) {
		if (typeof item !== "object" || item === null || Array.isArray(item))
			return "Each item in the list must be a dictionary.";
		if (!("id" in item && "level" in item))
			return 'Each dictionary must contain "id" and "level" keys.';
		if (!integer().safeParse(item.id).success) return 'The "id" field must be an integer.';
		if (!LEVELS.has(item.level)) return 'The "level" field must be either "member" or "admin".';
	}
	return undefined;
}

/** An entry in the OpenAPI document. */
const Entry = z.object({
	id: z.int32().describe("The project's id."),
	// Many client generators don't support an enum with two types.
	level: z
		.union([z.literal([MEMBER, ADMIN]), z.literal(["member", "admin"])])
		.describe("1 or `member`: sees the project. 8 or `admin`: may also change it and its members."),
});

export const shape = documentAs(
	z.array(z.object({ id: integer(), level: z.union([integer(), z.string()]) })),
	z.array(Entry).max(MAX_ENTRIES),
);

/** The private projects that the invited person joins, each with a level. */
export const projectAccess = z.preprocess((list, context) => {
	const error = findError(list);
	if (error !== undefined) context.issues.push({ code: "custom", input: list, message: error });
	return error === undefined ? list : [];
}, shape);
