import * as z from "zod";
import { LEVELS, level } from "../../db/schema/levels.ts";
import {
	boolean,
	email,
	integerChoice,
	issue,
	longText,
	rawText,
	text,
	timestamp,
} from "../../http/fields.ts";
import { DAY_MS } from "../../lib/time.ts";
import { PersonalApiKey } from "../personal_api_keys/shape.ts";
import { Membership, User } from "../users/shape.ts";
import { projectAccess, shape } from "./access.ts";

const ACCESS_TEXT =
	"The private projects that the person joins, each with a level. Projects that are deleted when the invite is accepted, or whose level the inviter can no longer grant, are ignored.";

const LEVEL_TEXT =
	"The level that the person gets: 1 for a member, 8 for an admin, 15 for an owner.";

/** An invite (docs/organizations.md#invites). */
export const Invite = z
	.object({
		id: z.guid().describe("Identifies the invite. It isn't the secret part of the link."),
		target_email: z.email().describe("The address of the invited person, in lower case."),
		first_name: z
			.string()
			.describe("The person's first name, as the inviter entered it; can be empty."),
		emailing_attempt_made: z
			.boolean()
			.describe(
				"Whether the link was mailed when the invite was created. It doesn't say whether the mail arrived.",
			),
		level: level().describe(LEVEL_TEXT),
		is_expired: z
			.boolean()
			.describe(
				"Whether the invite can no longer be accepted: it is three days old, or its inviter can no longer grant this level.",
			),
		created_by: User.describe("The inviter."),
		created_at: timestamp().describe(
			"When the invite was created. It works for three days from then.",
		),
		updated_at: timestamp().describe("The same as `created_at`: an invite is never changed."),
		message: z.string().nullable().describe("The inviter's message; null for none."),
		private_project_access: shape.describe(ACCESS_TEXT),
	})
	.meta({ id: "Invite" });

/** A new invite. Without a mail, `accept_url` is the link to pass on, or null. */
export const NewInvite = Invite.extend({
	accept_url: z
		.url()
		.nullable()
		.optional()
		.describe(
			"The link to accept the invite, for you to pass on. Only in this response, and missing if the link was mailed. Null unless your key has the scope `*`, no restrictions and no expiry, as a new user's key has.",
		),
}).meta({ id: "NewInvite" });

/** The first of several new invites, with all of them in the order of the request. */
export const NewInvites = NewInvite.extend({
	count: z.int().describe("How many invites were created."),
	results: z.array(NewInvite).describe("The new invites, in the order of the request."),
}).meta({ id: "NewInvites" });

export const LIFETIME_MS = 3 * DAY_MS;

type Age = { created_at: string };

export const expiresAt = ({ created_at }: Age) => new Date(Date.parse(created_at) + LIFETIME_MS);

export const isPastExpiry = (invite: Age) => expiresAt(invite).getTime() <= Date.now();

type Validity = Age & { inviter_may_invite: boolean };

/** Whether the invite is too old, or its inviter may no longer invite. */
export const isExpired = (invite: Validity) => isPastExpiry(invite) || !invite.inviter_may_invite;

export const toInvite = ({
	inviter_may_invite,
	...row
}: Omit<z.infer<typeof Invite>, "is_expired"> & Validity): z.infer<typeof Invite> => ({
	...row,
	is_expired: isExpired({ ...row, inviter_may_invite }),
});

export const filters = z.object({
	search: rawText(200)
		.optional()
		.describe(
			"Only invites whose address contains this text, in any case. At most 200 characters.",
		),
});

const MAX_MESSAGE_BYTES = 8 * 1024;

export const create = z.object({
	target_email: email().describe(
		"The person's email address, stored in lower case. The invite replaces older ones of the organization for the same address.",
	),
	first_name: text(30)
		.optional()
		.describe(
			"The person's first name, for the mail and as the first name of a new user. At most 30 characters; empty by default.",
		),
	level: integerChoice(LEVELS).optional().describe(`${LEVEL_TEXT} At most your own; 1 by default.`),
	message: longText(MAX_MESSAGE_BYTES)
		.overwrite((text) => text.replaceAll("\t", " "))
		.nullable()
		.optional()
		.describe(
			"Your message in the mail and on the invite's page; can have line breaks. Null for none.",
		),
	private_project_access: projectAccess
		.optional()
		.describe(
			`${ACCESS_TEXT} At most 100 entries, of projects that you can see, with levels up to your own; empty by default.`,
		),
	send_email: boolean()
		.optional()
		.describe(
			"Whether to mail the link; true by default. If false, the response has `accept_url`.",
		),
});

const MAX_BULK = 20;

/** Invites for several addresses at once. */
export const bulk = z.preprocess(
	(value, { issues }) => {
		if (!Array.isArray(value) || value.length <= MAX_BULK) return value;
		issues.push(
			issue(
				value,
				"max_length",
				`A maximum of ${MAX_BULK} invites can be sent in a single request.`,
			),
		);
		return z.NEVER;
	},
	z
		.array(create, {
			error: "This endpoint needs an array of data for bulk invite creation.",
		})
		.min(1)
		.check(({ value, issues }) => {
			const emails = value.map(({ target_email }) => target_email);
			const duplicate = emails.findIndex((email, i) => emails.indexOf(email) < i);
			if (duplicate >= 0)
				issues.push({
					...issue(value, "invalid_input", "The request has this email address more than once."),
					path: [duplicate, "target_email"],
				});
		}),
);

/** The section of the operations on an invite whose link somebody has. */
export const OF_LINK = {
	name: "Accepting invites",
	description: "For the holder of an invite's link, with or without a key.",
	parameters: { token: z.string().min(1).describe("The secret part of the invite's link.") },
};

/** The fields of an invite that anyone with the link may see. */
export const Invitation = z
	.object({
		organization_name: z.string().describe("The organization that the person would join."),
		inviter_first_name: z.string().describe("The first name of the inviter; may be empty."),
		target_email: z.email().describe("The address that the invite is for, in lower case."),
		first_name: z
			.string()
			.describe("The person's first name, as the inviter entered it; can be empty."),
		is_expired: z
			.boolean()
			.describe(
				"Whether the invite can no longer be accepted, because it is too old or its inviter lost access.",
			),
	})
	.meta({ id: "Invitation" });

export const accept = z.object({
	first_name: text(150)
		.optional()
		.describe(
			"The first name of a new user; by default the invite's. At most 150 characters. An existing user's name doesn't change.",
		),
	last_name: text(150)
		.optional()
		.describe(
			"The last name of a new user; empty by default. At most 150 characters. An existing user's name doesn't change.",
		),
});

/** The response to accepting an invite. */
export const Accepted = z
	.object({
		organization: Membership.describe("The organization that the user has joined."),
		user: User.describe("The user who has joined, existing or new."),
		personal_api_key: PersonalApiKey.nullable().describe(
			"The new key, with the scope `*` and no expiry date. Only this response shows its `value`. Null if an existing user keeps their keys.",
		),
	})
	.meta({ id: "Accepted" });
