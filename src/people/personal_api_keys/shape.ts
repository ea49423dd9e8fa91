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
import { now } from "../../lib/time.ts";

const LABEL_TEXT = "What the key is for, in your own words.";

const SCOPES_TEXT =
	"The key's permissions: `<object>:read`, `<object>:write`, which includes reading, `batch_export:run`, which includes reading exports, or `*` for everything. Each operation names the scope that it requires.";

const ORGANIZATIONS_TEXT =
	"The ids of the organizations that the key can access. An empty list means all of yours, including those that you join later. A key of a service account always has its own organization here, whatever you send.";

const PROJECTS_TEXT =
	"The integer ids of the projects that the key can access. An empty list means all that you can see. A key restricted to projects can't use paths that begin with `/api/organizations`.";

const ALLOWED_IPS_TEXT =
	"The IP addresses that the key can be used from: IPv4 or IPv6 addresses, or ranges such as `203.0.113.0/24`. An empty list allows all. Requests from other addresses are a 403.";

const TEAMS_TEXT = "Another name for `scoped_projects`.";

const EXPIRY_TEXT = "When the key stops working; null for never";

/** How many keys a user or a service account can have. */
export const MAX_KEYS = 25;

/** docs/keys.md#personal-api-keys. */
export const PersonalApiKey = z
	.object({
		id: z.guid().describe("Identifies the key, in paths too. It isn't secret."),
		label: z.string().describe(LABEL_TEXT),
		value: z
			.string()
			.nullable()
			.describe(
				"The key itself, for the header `Authorization: Bearer <value>`. Only in the response that creates or rolls the key; null in all others.",
			),
		mask_value: z
			.string()
			.describe("The last four characters of the value, as `tnt_…abcd`, to tell keys apart."),
		scopes: z.array(documentAs(z.string(), z.enum(scopes))).describe(SCOPES_TEXT),
		scoped_organizations: z.array(z.guid()).describe(ORGANIZATIONS_TEXT),
		scoped_projects: z.array(z.int()).describe(PROJECTS_TEXT),
		scoped_teams: z.array(z.int()).describe(`${TEAMS_TEXT} Always the same list.`),
		allowed_ips: z.array(z.string()).describe(ALLOWED_IPS_TEXT),
		expires_at: timestamp().nullable().describe(`${EXPIRY_TEXT}.`),
		created_at: timestamp().describe("When the key was created."),
		last_used_at: timestamp()
			.nullable()
			.describe("When the key was last used, to within an hour; null if never."),
		last_rolled_at: timestamp()
			.nullable()
			.describe("When the key last got a new value; null if never."),
		previous_value_expires_at: timestamp()
			.nullable()
			.describe("Until when the value before that works too; null if it doesn't."),
	})
	.meta({ id: "PersonalApiKey" });

/** docs/keys.md#use-by-day. */
export const KeyDay = z
	.object({
		day: z.iso.date().describe("The day, in UTC."),
		requests: z
			.int()
			.describe("How many requests were made with the key, including rejected ones."),
		refusals: z
			.int()
			.describe(
				"How many of them were rejected with a 403 or a 429, or with a 401 because the key had expired.",
			),
		last_address: z
			.string()
			.nullable()
			.describe("The IP address of the last request; null if unknown."),
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
		previous_hash: ________,
		previous_value_expires_at: until,
		...row
	}: typeof personalApiKeys.$inferSelect,
	value: string | null = null,
): z.infer<typeof PersonalApiKey> => ({
	...row,
	scoped_teams: row.scoped_projects,
	previous_value_expires_at: until !== null && until > now() ? until : null,
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
	label: name(40).describe(`${LABEL_TEXT} At most 40 characters.`),
	scopes: set(text().pipe(z.enum(scopes)), 100)
		.min(1)
		.describe(`${SCOPES_TEXT} At least one. The list replaces the old one.`),
	scoped_organizations: set(uuid(), 100)
		.optional()
		.describe(`${ORGANIZATIONS_TEXT} At most 100. The list replaces the old one.`),
	scoped_projects: set(integer(), 100)
		.optional()
		.describe(`${PROJECTS_TEXT} At most 100. The list replaces the old one.`),
	scoped_teams: set(integer(), 100)
		.optional()
		.describe(`${TEAMS_TEXT} Set only one of them, or both to the same projects.`),
	allowed_ips: set(range, 50)
		.optional()
		.describe(`${ALLOWED_IPS_TEXT} At most 50. The list replaces the old one.`),
	expires_at: moment()
		.nullable()
		.optional()
		.describe(`${EXPIRY_TEXT}. A time in the past ends the key.`),
});

const { shape } = fields;

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
	.extend({
		scopes: shape.scopes.describe(`${SCOPES_TEXT} At least one.`),
		scoped_organizations: shape.scoped_organizations.describe(
			`${ORGANIZATIONS_TEXT} At most 100; empty by default.`,
		),
		scoped_projects: shape.scoped_projects.describe(
			`${PROJECTS_TEXT} At most 100; empty by default.`,
		),
		allowed_ips: shape.allowed_ips.describe(`${ALLOWED_IPS_TEXT} At most 50; empty by default.`),
		expires_at: futureMoment()
			.nullable()
			.optional()
			.describe(`${EXPIRY_TEXT}, which is the default. A time in the past is a 400.`),
	})
	.check(sameProjects);

export const update = fields.partial().check(sameProjects);
