import * as z from "zod";
import type { Recipients } from "../../db/schema/notifications.ts";
import { choice, explain, issue, notAChoice, set, uuid } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";
import { TYPES } from "./types.ts";

const RECIPIENTS_TEXT =
	"Who gets mail: `admins` (members of level 8 and 15), `owner` (the owner of the key, only for `key.expiring`; admins if it belongs to a service account), or a list of at most 100 UUIDs of members, empty for nobody.";

const MAX_RECIPIENTS = 100;

const WORDS = ["admins", "owner"] as const;

/** Who gets the mails of one type of events (docs/notifications.md). */
export const Subscription = z
	.object({
		type: explain(z.enum(TYPES), "The type of the events.", {
			"batch_export.paused":
				"an export was paused because its runs failed. Mailed to admins by default.",
			"batch_export_run.failed": "a run of an export failed. Mailed to admins by default.",
			"batch_export_run.skipped":
				"windows of an export were skipped after downtime. Mailed to admins by default.",
			"batch_export_run.completed": "a run of an export completed. Not mailed by default.",
			"plugin_job.failed": "a job or task of a plugin failed. Not mailed by default.",
			"key.expiring": "an API key expires within seven days. Mailed to its owner by default.",
			"domain.unverified":
				"the TXT record of a verified domain is missing. Mailed to admins by default.",
			"webhook.disabled":
				"a webhook was disabled, because its endpoint returned 410 or failed for five days. Mailed to admins by default.",
			"audit_stream.failed":
				"an audit stream can't deliver the activity log. Mailed to admins by default.",
			"audit_stream.delivered":
				"an audit stream wrote a file. The event has its signed head. Not mailed by default.",
			"member.created":
				"somebody joined through an invite or a provider. Mailed to admins by default, unless the organization's `is_member_join_email_enabled` is false, which turning these mails off and on changes, too.",
		}),
		recipients: z
			.union([z.enum(WORDS), z.array(z.guid())])
			.describe(
				`${RECIPIENTS_TEXT} Members who have left are omitted; if everyone on a list has left, it is \`admins\`.`,
			),
	})
	.meta({ id: "Subscription" });

/** The notification settings of an organization: all types, in a fixed order. */
export const Notifications = z
	.object({
		subscriptions: z
			.array(Subscription)
			.describe("All types that can be mailed, always in the same order."),
	})
	.meta({ id: "Notifications" });

const word = choice(WORDS);
const list = set(uuid(), MAX_RECIPIENTS);

/** A string or a list. A union alone would give no useful error. */
const recipients = z
	.custom<Recipients>(() => true)
	.transform((value, context): Recipients => {
		const parsed = (Array.isArray(value) ? list : word).safeParse(value, { reportInput: true });
		if (parsed.success) return parsed.data;
		for (const wrong of parsed.error.issues) {
			const { code, detail, choices } = toApiError(wrong).body;
			context.issues.push({ ...issue(value, code, detail, choices), path: wrong.path });
		}
		return z.NEVER;
	})
	.pipe(z.union([z.enum(WORDS), z.array(z.guid()).max(MAX_RECIPIENTS)]));

const subscription = z
	.object({
		type: choice(TYPES).describe("The type of the events."),
		recipients: recipients.describe(RECIPIENTS_TEXT),
	})
	.check(({ value, issues }) => {
		if (value.recipients !== "owner" || value.type === "key.expiring") return;
		issues.push({
			...issue(value.recipients, "invalid_choice", notAChoice(value.recipients), ["admins"]),
			path: ["recipients"],
		});
	});

export const update = z.object({
	subscriptions: z
		.array(subscription)
		.max(TYPES.length)
		.check(({ value, issues }) => {
			const at = value.findIndex(({ type }, i) =>
				value.slice(0, i).some((one) => one.type === type),
			);
			if (at >= 0)
				issues.push({
					...issue(value[at]?.type, "invalid_input", "Each type may be listed once."),
					path: [at, "type"],
				});
		})
		.optional()
		.describe("The types to change, each at most once."),
});
