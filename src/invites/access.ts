import * as z from "zod";
import { ADMIN, MEMBER } from "../db/levels.ts";
import type { ProjectAccess } from "../db/schema.ts";
import { integer } from "../http/fields.ts";
import { documentAs } from "../http/router.ts";

/** Each is a statement when the invite is accepted. */
const MAX_ENTRIES = 100;

const LEVELS = new Map<unknown, number>([
	[MEMBER, MEMBER],
	[String(MEMBER), MEMBER],
	["member", MEMBER],
	[ADMIN, ADMIN],
	[String(ADMIN), ADMIN],
	["admin", ADMIN],
]);

/** The level of a project membership that an entry speaks of. */
export const levelOf = ({ level }: ProjectAccess) => LEVELS.get(level) ?? MEMBER;

/** What is wrong with a list of private projects and levels in a request, in words (docs/organizations.md#invites). */
function wrong(list: unknown) {
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

export const shape = documentAs(
	z.array(z.object({ id: integer(), level: z.union([integer(), z.string()]) })),
	z
		.array(
			z.object({
				id: z.int32(),
				level: z.literal([MEMBER, ADMIN, "member", "admin"]),
			}),
		)
		.max(MAX_ENTRIES),
);

/** Private projects that the invited person will be a member of, and the levels there. */
export const projectAccess = z.preprocess((list, context) => {
	const why = wrong(list);
	if (why !== undefined) context.issues.push({ code: "custom", input: list, message: why });
	return why === undefined ? list : [];
}, shape);
