import { shorten } from "../../lib/text.ts";
import { linkTo, singleLine } from "../../outbound/mail.ts";
import type { FeedEvent } from "../events/event.ts";
import { TYPE_WORDS } from "../events/words.ts";

/** The lengths leave room for escaping within the limits of all services. */
const MAX_NAME_LENGTH = 200;
const MAX_DETAILS_LENGTH = 500;

const WORDS = new Map(Object.entries<string>({ ...TYPE_WORDS, "webhook.test": "Test" }));

/** An event as a webhook gets it: with its origin only if the webhook's setting says so. */
export type SentEvent = Omit<FeedEvent, "origin"> & Partial<Pick<FeedEvent, "origin">>;

/** A message for people about an event, as plain text in single lines. */
export type Notice = {
	/** The event and its object. */
	title: string;
	/** Why, and what happens next; empty if the event doesn't say. */
	details: string;
	/** Who did it. */
	actor: string;
	/** The page of the console; empty if the service doesn't know its own address. */
	link: string;
};

const clean = (value: unknown) => singleLine(String(value ?? ""));

function actorOf({ actor }: SentEvent) {
	if (actor.type === "system") return "By the service";
	if (actor.type === "operator") return "By the operator";
	const name = shorten(clean(actor.first_name), MAX_NAME_LENGTH);
	return `By ${actor.email && name ? `${name} (${actor.email})` : (actor.email ?? name)}`;
}

/** Returns the path of the object's page in the console, without the organization. */
function pageOf({ type, data }: SentEvent) {
	const { scope, item_id, project_id, trigger } = data;
	if (type.endsWith(".deleted")) return "activity";
	switch (scope) {
		case "BatchExport":
			return `batch_exports/${item_id}`;
		case "BatchExportRun": {
			const run = trigger?.run_id ? `/runs/${trigger.run_id}` : "";
			return `batch_exports/${trigger?.batch_export_id}${run}`;
		}
		case "PluginJob":
			return `plugin_configs/${project_id}/${trigger?.plugin_config_id}/log`;
		case "PluginConfig":
			return `plugin_configs/${project_id}/${item_id}`;
		case "Plugin":
			return `plugins/${item_id}`;
		case "Project":
			return `projects/${item_id}`;
		case "Domain":
			return `domains/${item_id}`;
		case "Webhook":
			return `webhooks/${item_id}`;
		case "AuditStream":
			return `audit_streams/${item_id}`;
		case "Key":
			return "activity/events";
		default:
			return "activity";
	}
}

/** Returns the words for an event, without the markup of any service. */
export function noticeOf(appUrl: string, event: SentEvent): Notice {
	const { name, organization_id, trigger } = event.data;
	const words = WORDS.get(event.type) ?? event.type;
	const details = [trigger?.reason, trigger?.error, trigger?.next_step].map(clean).filter(Boolean);
	return {
		title: name ? `${words}: “${shorten(singleLine(name), MAX_NAME_LENGTH)}”` : words,
		details: shorten(details.join(" "), MAX_DETAILS_LENGTH),
		actor: actorOf(event),
		link: appUrl && linkTo(appUrl, `/console/${organization_id}/${pageOf(event)}`),
	};
}
