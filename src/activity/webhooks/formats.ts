/** The bodies of messages (docs/webhooks.md#formats). */
import type { Format } from "../../db/schema/webhooks.ts";
import { type Notice, noticeOf, type SentEvent } from "./notice.ts";

export type { SentEvent };

const LINK_WORDS = "Open in the console";

/**
 * Escapes the characters with which Slack marks links and mentions
 * (https://docs.slack.dev/messaging/formatting-message-text#escaping).
 */
const escapeForSlack = (text: string) =>
	text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** In plain text, asterisks, underscores and backquotes of names mean nothing. */
const slackText = (text: string) =>
	({ type: "plain_text", text: escapeForSlack(text), emoji: false }) as const;

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
const toSlack = ({ title, details, actor, link }: Notice) => ({
	// For notifications, which don't show the blocks.
	text: escapeForSlack(details ? `${title}: ${details}` : title),
	blocks: [
		{ type: "section", text: slackText(title) },
		...(details ? [{ type: "section", text: slackText(details) }] : []),
		{
			type: "context",
			elements: [
				slackText(actor),
				...(link ? [{ type: "mrkdwn", text: `<${escapeForSlack(link)}|${LINK_WORDS}>` }] : []),
			],
		},
	],
});

/** A paragraph of a card. Unlike in a TextBlock, Markdown in its text means nothing. */
const paragraph = (text: string, style: { weight?: "Bolder"; isSubtle?: true } = {}) => ({
	type: "RichTextBlock",
	inlines: [{ type: "TextRun", text, ...style }],
});

/** https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using */
const toTeams = ({ title, details, actor, link }: Notice) => ({
	type: "message",
	attachments: [
		{
			contentType: "application/vnd.microsoft.card.adaptive",
			contentUrl: null,
			content: {
				$schema: "http://adaptivecards.io/schemas/adaptive-card.json",
				type: "AdaptiveCard",
				version: "1.4",
				body: [
					paragraph(title, { weight: "Bolder" }),
					...(details ? [paragraph(details)] : []),
					paragraph(actor, { isSubtle: true }),
				],
				actions: link ? [{ type: "Action.OpenUrl", title: LINK_WORDS, url: link }] : [],
			},
		},
	],
});

/** Returns how urgent an event is. Only those without a caller are unexpected. */
function severityOf({ type, actor }: SentEvent) {
	if (actor.type !== "system" || type === "webhook.test") return "info";
	return type.endsWith(".failed") ? "error" : "warning";
}

/**
 * Returns what PagerDuty recognizes an alert by: the type and the object, so that each object has
 * one alert, however often it fails. A run that completes has the alert of failed runs of its
 * export.
 */
function alertOf({ type, data: { item_id, organization_id, trigger } }: SentEvent) {
	const object = trigger?.batch_export_id ?? trigger?.plugin_config_id ?? item_id;
	return [organization_id, type.replace(/\.completed$/, ".failed"), object].join("/");
}

/** https://developer.pagerduty.com/docs/events-api-v2-overview */
function toPagerDuty(
	{ title, details, actor, link }: Notice,
	event: SentEvent,
	{ appUrl, routing_key }: { appUrl: string; routing_key: string | null },
) {
	const dedup_key = alertOf(event);
	if (event.type === "batch_export_run.completed")
		return { routing_key, event_action: "resolve", dedup_key };
	const { name } = event.data;
	return {
		routing_key,
		event_action: "trigger",
		dedup_key,
		payload: {
			summary: details ? `${title}: ${details}` : title,
			source: URL.parse(appUrl)?.host ?? "Tenantry",
			severity: severityOf(event),
			timestamp: event.created_at,
			...(name && { component: name }),
			class: event.type,
			custom_details: { event_id: event.id, type: event.type, actor },
		},
		links: link ? [{ href: link, text: LINK_WORDS }] : [],
	};
}

/**
 * Returns the body of a message about an event, before it is written as JSON.
 * @param appUrl the service's address; may be empty
 */
export function bodyOf(
	appUrl: string,
	event: SentEvent,
	{ format, routing_key }: { format: Format; routing_key: string | null },
) {
	if (format === "standard") return event;
	const notice = noticeOf(appUrl, event);
	if (format === "slack") return toSlack(notice);
	if (format === "teams") return toTeams(notice);
	return toPagerDuty(notice, event, { appUrl, routing_key });
}
