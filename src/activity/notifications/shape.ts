import * as z from "zod";
import type { Recipients } from "../../db/schema/notifications.ts";
import { choice, issue, notAChoice, set, uuid } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";
import { TYPES } from "./types.ts";

const MAX_RECIPIENTS = 100;

const WORDS = ["admins", "owner"] as const;

/** Who gets the mails of one type of events (docs/notifications.md). */
export const Subscription = z
	.object({
		type: z.enum(TYPES),
		recipients: z.union([z.enum(WORDS), z.array(z.guid())]),
	})
	.meta({ id: "Subscription" });

/** The notification settings of an organization: all types, in a fixed order. */
export const Notifications = z
	.object({ subscriptions: z.array(Subscription) })
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

const subscription = z.object({ type: choice(TYPES), recipients }).check(({ value, issues }) => {
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
		.optional(),
});
