import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import type { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import {
	futureMoment,
	integer,
	issue,
	moment,
	name,
	set,
	text,
	timestamp,
	uuid,
} from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";

/** How many keys a user or a service account can have. */
export const MAX_KEYS = 25;

/** docs/keys.md#personal-api-keys. */
export const PersonalApiKey = z
	.object({
		id: z.guid(),
		label: z.string(),
		/** Only in responses to create and roll. Null in all others. */
		value: z.string().nullable(),
		mask_value: z.string(),
		scopes: z.array(documentAs(z.string(), z.enum(scopes))),
		scoped_organizations: z.array(z.guid()),
		scoped_projects: z.array(z.int()),
		/** Another name for `scoped_projects`. */
		scoped_teams: z.array(z.int()),
		allowed_ips: z.array(z.string()),
		expires_at: timestamp().nullable(),
		created_at: timestamp(),
		last_used_at: timestamp().nullable(),
		last_rolled_at: timestamp().nullable(),
	})
	.meta({ id: "PersonalApiKey" });

/** docs/keys.md#use-by-day. */
export const KeyDay = z
	.object({
		day: z.iso.date(),
		requests: z.int(),
		refusals: z.int(),
		last_address: z.string().nullable(),
	})
	.meta({ id: "KeyDay" });

/** @param value the key itself, if it was just created */
export const toPersonalApiKey = (
	{
		hash: _,
		user_id: __,
		version: ___,
		expiry_notified_for: ____,
		session: _____,
		client_id: ______,
		audience: _______,
		...row
	}: typeof personalApiKeys.$inferSelect,
	value: string | null = null,
): z.infer<typeof PersonalApiKey> => ({
	...row,
	scoped_teams: row.scoped_projects,
	value,
});

/** An IP address or a range, converted to the form in which it is stored. */
const range = documentAs(
	text(50)
		.min(1)
		.transform(async (value, context) => {
			const { normalize } = await import("../../keys/ranges.ts");
			const range = normalize(value);
			if (range !== undefined) return range;
			context.issues.push(
				issue(value, "invalid_input", "Enter an IP address, or a range such as 203.0.113.0/24."),
			);
			return z.NEVER;
		})
		.pipe(z.string()),
	z.string().max(50),
);

const fields = z.object({
	label: name(40),
	scopes: set(text().pipe(z.enum(scopes)), 100).min(1),
	scoped_organizations: set(uuid(), 100).optional(),
	scoped_projects: set(integer(), 100).optional(),
	scoped_teams: set(integer(), 100).optional(),
	allowed_ips: set(range, 50).optional(),
	expires_at: moment().nullable().optional(),
});

type Projects = Partial<Record<"scoped_projects" | "scoped_teams", number[] | undefined>>;

/** If a body has both names for the projects, both must list the same ones. */
const sameProjects: z.core.CheckFn<Projects> = ({ value, issues }) => {
	const { scoped_projects: projects, scoped_teams: teams } = value;
	if (!projects || !teams) return;
	if (new Set(projects).symmetricDifference(new Set(teams)).size === 0) return;
	issues.push({
		...issue(
			teams,
			"invalid_input",
			"scoped_teams is another name for scoped_projects: set only one of them, or both to the same projects.",
		),
		path: ["scoped_teams"],
	});
};

export const create = fields
	.extend({ expires_at: futureMoment().nullable().optional() })
	.check(sameProjects);
/** A time in the past ends the key. */
export const update = fields.partial().check(sameProjects);
