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

/** An invite (docs/organizations.md#invites). */
export const Invite = z
	.object({
		id: z.guid(),
		target_email: z.email(),
		first_name: z.string(),
		emailing_attempt_made: z.boolean(),
		level: level(),
		is_expired: z.boolean(),
		created_by: User,
		created_at: timestamp(),
		updated_at: timestamp(),
		message: z.string().nullable(),
		private_project_access: shape,
	})
	.meta({ id: "Invite" });

/** A new invite. Without a mail, `accept_url` is the link to pass on, or null. */
export const NewInvite = Invite.extend({
	accept_url: z.url().nullable().optional(),
}).meta({ id: "NewInvite" });

/** The first of several new invites, with all of them in the order of the request. */
export const NewInvites = NewInvite.extend({
	count: z.int(),
	results: z.array(NewInvite),
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
	/** Searches the email address. */
	search: rawText(200).optional(),
});

const MAX_MESSAGE_BYTES = 8 * 1024;

export const create = z.object({
	target_email: email(),
	first_name: text(30).optional(),
	level: integerChoice(LEVELS).optional(),
	message: longText(MAX_MESSAGE_BYTES)
		.overwrite((text) => text.replaceAll("\t", " "))
		.nullable()
		.optional(),
	private_project_access: projectAccess.optional(),
	send_email: boolean().optional(),
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

/** The fields of an invite that anyone with the link may see. */
export const Invitation = z
	.object({
		organization_name: z.string(),
		inviter_first_name: z.string(),
		target_email: z.email(),
		first_name: z.string(),
		is_expired: z.boolean(),
	})
	.meta({ id: "Invitation" });

export const accept = z.object({
	first_name: text(150).optional(),
	last_name: text(150).optional(),
});

/** The response to accepting an invite. */
export const Accepted = z
	.object({
		organization: Membership,
		user: User,
		/** The new key, with its value; null if the user keeps the keys that they have. */
		personal_api_key: PersonalApiKey.nullable(),
	})
	.meta({ id: "Accepted" });
