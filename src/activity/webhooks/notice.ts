import { shorten } from "../../lib/text.ts";
import { consoleOf } from "../../outbound/console.ts";
import { linkTo, singleLine } from "../../outbound/mail.ts";
import type { FeedEvent } from "../events/event.ts";
import { pageOf } from "../events/page.ts";
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

/** Returns the address of the console's page about an event. What was deleted has none. */
const addressOf = ({ type, data }: SentEvent) =>
	type.endsWith(".deleted")
		? consoleOf(data.organization_id ?? "").activity
		: pageOf(data.organization_id ?? "", data);

/** Returns the words for an event, without the markup of any service. */
export function noticeOf(appUrl: string, event: SentEvent): Notice {
	const { name, trigger } = event.data;
	const words = WORDS.get(event.type) ?? event.type;
	const details = [trigger?.reason, trigger?.error, trigger?.next_step].map(clean).filter(Boolean);
	return {
		title: name ? `${words}: “${shorten(singleLine(name), MAX_NAME_LENGTH)}”` : words,
		details: shorten(details.join(" "), MAX_DETAILS_LENGTH),
		actor: actorOf(event),
		link: appUrl && linkTo(appUrl, addressOf(event)),
	};
}
