import * as z from "zod";
import { explain, timestamp } from "../../http/fields.ts";

export const KINDS = [
	"batch_export",
	"audit_stream",
	"webhook",
	"plugin_config",
	"personal_api_key",
	"service_account_key",
	"domain",
] as const;

/** The most urgent first. */
export const STATES = [
	"failing",
	"stopped",
	"disabled",
	"expires",
	"paused",
	"not_verified",
] as const;

/** Something that doesn't work, or soon won't. */
export const AttentionItem = z
	.object({
		kind: explain(z.enum(KINDS), "What it is.", {
			batch_export: "an export.",
			audit_stream: "an audit stream.",
			webhook: "a webhook.",
			plugin_config: "a plugin config.",
			personal_api_key: "an API key of the caller.",
			service_account_key: "a key of a service account.",
			domain: "a domain.",
		}),
		id: z.string().describe("Its id."),
		name: z.string().describe("Its name; the URL of a webhook without a description."),
		state: explain(z.enum(STATES), "What is wrong.", {
			failing: "what it should do fails; an export has windows that weren't delivered.",
			stopped: "an export is paused and has windows that weren't delivered.",
			disabled: "the service disabled it.",
			expires: "it expires within seven days.",
			paused: "somebody paused it.",
			not_verified: "it hasn't been verified.",
		}),
		detail: z.string().nullable().describe("Why, such as the latest error; null if nobody said."),
		since: timestamp()
			.nullable()
			.describe(
				"Since when: the start of the oldest window that wasn't delivered, the pause, or the first failure; null if unknown.",
			),
		expires_at: timestamp().nullable().describe("When a key expires; null for others."),
		undelivered_windows: z
			.int()
			.nullable()
			.describe("How many windows of an export weren't delivered; null for others."),
		project_id: z.int().nullable().describe("The id of its project; null if it has none."),
		service_account_id: z
			.guid()
			.nullable()
			.describe("The service account that a key belongs to; null for others."),
	})
	.meta({ id: "AttentionItem" });

/** What needs attention in an organization (docs/notifications.md#what-needs-attention). */
export const Attention = z
	.object({
		items: z
			.array(AttentionItem)
			.describe(
				"The most urgent first; at most 100 of each kind. Only what the caller and the key may read.",
			),
		setup: z
			.object({
				has_verified_domain: z.boolean().describe("Whether a domain is verified."),
				has_webhook: z.boolean().describe("Whether there is a webhook."),
				has_export_access: z
					.boolean()
					.describe("Whether an access control says what everyone may do with exports."),
			})
			.nullable()
			.describe(
				"What a new organization lacks at first; null if the caller isn't an admin, or the key may not read domains and webhooks.",
			),
	})
	.meta({ id: "Attention" });

export type Found = z.infer<typeof Attention>;

export type Item = z.infer<typeof AttentionItem>;
