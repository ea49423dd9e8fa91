import * as z from "zod";
import { LEVELS, level } from "../../db/schema/levels.ts";
import {
	boolean,
	integerChoice,
	queryMoment,
	rawText,
	text,
	timestamp,
} from "../../http/fields.ts";
import { User } from "../users/shape.ts";

/** A member (docs/organizations.md#members). */
export const Member = z
	.object({
		id: z.guid(),
		user: User,
		level: level(),
		joined_at: timestamp(),
		updated_at: timestamp(),
		is_2fa_enabled: z.boolean(),
		has_social_auth: z.boolean(),
	})
	.meta({ id: "Member" });

export const update = z.object({ level: integerChoice(LEVELS).optional() });

export const filters = z.object({
	/** The complete email address. Ignores case. */
	email: text().optional(),
	/** Searches names and email addresses. */
	search: rawText(200).optional(),
	level: integerChoice(LEVELS).optional(),
	is_2fa_enabled: boolean().optional(),
	updated_after: queryMoment().optional(),
	/** `joined_at` or `-joined_at`; anything else means `-joined_at`. */
	order: z.string().optional().catch(undefined),
});
