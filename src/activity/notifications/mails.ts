import { dateAndTime, range } from "../../lib/dates.ts";
import { pluralize, shorten } from "../../lib/text.ts";
import { consoleOf, ownPages } from "../../outbound/console.ts";
import {
	addressText,
	linkTo,
	type Mail,
	type MailText,
	singleLine,
	trusted,
	unlinked,
} from "../../outbound/mail.ts";
import type { EventRow } from "../events/event.ts";
import { pageOf } from "../events/page.ts";
import { TYPE_WORDS } from "../events/words.ts";
import { columnsOf, type Type } from "./types.ts";

/** The columns of an event that mails need. */
export type Event = Pick<
	EventRow,
	"position" | "item_id" | "project_id" | "name" | "trigger" | "created_at"
> & {
	/** The name of the person who joined; null for other events. */
	person: string | null;
};

/** The maximum number of events listed in a mail. The mail mentions how many more there are. */
const MAX_LISTED = 20;

const MAX_ERROR_LENGTH = 300;

/** Returns a value of an event's trigger as text; empty if it is missing. */
const detail = ({ trigger }: Event, name: string) => singleLine(String(trigger?.[name] ?? ""));

const errorOf = (event: Event) => shorten(detail(event, "error"), MAX_ERROR_LENGTH);

/** Like `detail`, for values that only the service writes. */
const own = (event: Event, name: string) => trusted(detail(event, name));

const count = (event: Event, name: string, noun: string) =>
	trusted(pluralize(Number(detail(event, name)), noun));

/** The date of an event's trigger; undefined if it isn't one. */
function dateIn(event: Event, name: string) {
	const at = new Date(detail(event, name));
	return Number.isNaN(at.getTime()) ? undefined : at;
}

const when = (event: Event, name: string) => {
	const at = dateIn(event, name);
	return trusted(at ? dateAndTime(at) : "an unknown time");
};

function windowOf(event: Event) {
	const start = dateIn(event, "data_interval_start");
	const end = dateIn(event, "data_interval_end");
	return trusted(start && end ? range(start, end) : "an unknown window");
}

/** How somebody joined, as in `Via` of src/people/memberships.ts. */
const JOINED: Record<string, string> = {
	invite: "Accepted an invite.",
	sso: "Joined by signing in through your identity provider.",
	scim: "Was added by your identity provider.",
};

type Wording = {
	/** Returns the subject for `n` events of the organization. */
	subject: (n: string, isOne: boolean, organization: string) => MailText;
	/** Returns what happened. In the mail, it follows the object's name. */
	line: (event: Event) => MailText;
	/** The label of the link to the object. */
	label: string;
	/** The meaning of the events, and advice. */
	advice: string;
};

const EXPORT = "See the export";

const RUN = "See the run";

const WORDINGS: Record<Type, Wording> = {
	"batch_export.paused": {
		subject: (n, isOne, of) =>
			unlinked`${n} batch export${isOne ? " was" : "s were"} paused in ${of}`,
		line: (event) => unlinked`${own(event, "reason")} The last error: ${errorOf(event)}`,
		label: EXPORT,
		advice:
			"Fix the errors in the log of the export, then resume it. It asks whether to export what arrived during the pause, too.",
	},
	"batch_export_run.failed": {
		subject: (n, isOne, of) =>
			unlinked`${n} run${isOne ? "" : "s"} of batch exports failed in ${of}`,
		line: (event) =>
			unlinked`Rows of ${windowOf(event)}: ${errorOf(event)} ${own(event, "next_step")}`,
		label: RUN,
		advice:
			"Some or all rows of these windows are missing from the destination. Fix the cause, then retry the runs.",
	},
	"batch_export_run.skipped": {
		subject: (n, isOne, of) =>
			unlinked`${n} batch export${isOne ? "" : "s"} skipped windows in ${of}`,
		line: (event) =>
			unlinked`${count(event, "windows", "window")}, ${windowOf(event)}. ${errorOf(event)}`,
		label: EXPORT,
		advice:
			"The rows of these windows are missing from the destination. Export what arrived in them with a backfill by arrival, as the log of the export says.",
	},
	"batch_export_run.completed": {
		subject: (n, isOne, of) =>
			unlinked`${n} run${isOne ? "" : "s"} of batch exports ${isOne ? "is" : "are"} complete in ${of}`,
		line: (event) => unlinked`Rows of ${windowOf(event)}: ${count(event, "rows", "row")}`,
		label: RUN,
		advice: "The rows of these windows have arrived at the destination.",
	},
	"plugin_job.failed": {
		subject: (n, isOne, of) => unlinked`${n} plugin job${isOne ? "" : "s"} failed in ${of}`,
		line: (event) => unlinked`${errorOf(event)}`,
		label: "See the log",
		advice: "The log of the plugin config has the details.",
	},
	"key.expiring": {
		subject: (n, isOne, of) =>
			unlinked`${n} API key${isOne ? " expires" : "s expire"} soon in ${of}`,
		line: (event) => unlinked`${own(event, "mask_value")} expires on ${when(event, "expires_at")}.`,
		label: "See the key",
		advice:
			"Programs that use an expired key fail. Give the key a later expiry, or replace it before then.",
	},
	"domain.unverified": {
		subject: (n, isOne, of) =>
			unlinked`${n} domain${isOne ? " has" : "s have"} lost the DNS record that verifies ${isOne ? "it" : "them"} in ${of}`,
		line: (event) => unlinked`Missing since ${when(event, "missing_since")}: ${errorOf(event)}`,
		label: "See the domain",
		advice:
			"The domain stays verified, and nothing changes for people who sign in. Publish the TXT record again, which the page of the domain shows, or delete the domain.",
	},
	"webhook.disabled": {
		subject: (n, isOne, of) => unlinked`${n} webhook${isOne ? " was" : "s were"} disabled in ${of}`,
		line: (event) => unlinked`${own(event, "reason")} The last error: ${errorOf(event)}`,
		label: "See the webhook",
		advice:
			"Fix the endpoint, then enable the webhook on its page. Its events wait until then, as long as the activity log keeps them, and arrive in order.",
	},
	"audit_stream.failed": {
		subject: (n, isOne, of) => unlinked`${n} audit stream${isOne ? " fails" : "s fail"} in ${of}`,
		line: (event) => unlinked`${errorOf(event)}`,
		label: "See the stream",
		advice:
			"Fix the cause, or change the destination. A failing stream retries at least every hour and skips nothing, but entries that it hasn't delivered after 395 days are deleted.",
	},
	"audit_stream.delivered": {
		subject: (n, isOne, of) =>
			unlinked`${n} audit file${isOne ? " was" : "s were"} written in ${of}`,
		line: (event) => unlinked`file ${own(event, "sequence")}, digest ${own(event, "digest")}`,
		label: "See the stream",
		advice:
			"Keep this mail: whoever checks the files can compare them with these digests. A file that is missing or has another digest was removed or replaced.",
	},
	"member.created": {
		subject: (n, isOne, of) => unlinked`${n} new member${isOne ? "" : "s"} in ${of}`,
		line: (event) => trusted(JOINED[detail(event, "via")] ?? "Joined."),
		label: "See the member",
		advice: "If you don't know somebody, remove them on the page of members.",
	},
};

type Digest = {
	type: Type;
	organization: { id: string; name: string };
	/** Oldest first. */
	events: Event[];
	/** Whether there were more events than in `events`. */
	isMore: boolean;
	/** The UUID of the recipient. */
	to: string;
};

/** Returns the page of an event's object: of a person's key only for that person. */
function pageFor({ type, organization, to }: Digest, event: Event) {
	const { user_uuid, service_account_id } = event.trigger ?? {};
	if (type === "member.created") return consoleOf(organization.id).memberWith(event.name ?? "");
	return type === "key.expiring" && user_uuid === to && !service_account_id
		? ownPages.key(event.item_id)
		: pageOf(organization.id, { ...event, scope: columnsOf(type).scope });
}

/** The types about windows that weren't delivered. */
const UNDELIVERED: Type[] = [
	"batch_export.paused",
	"batch_export_run.failed",
	"batch_export_run.skipped",
];

/**
 * Returns a link for each export in the mail to its page, which has the button that exports what
 * wasn't delivered. Opening the page changes nothing.
 */
function retryLinks(appUrl: string, { type, organization }: Digest, events: Event[]) {
	if (!UNDELIVERED.includes(type)) return [];
	const idOf = (event: Event) =>
		type === "batch_export_run.failed" ? detail(event, "batch_export_id") : event.item_id;
	const names = new Map(events.map((event) => [idOf(event), event.name ?? ""]));
	return [...names]
		.filter(([id]) => id !== "")
		.map(([id, name]) => ({
			text: unlinked`What ${`“${name}”`} hasn't delivered:`,
			link: {
				label: "Retry it",
				url: linkTo(appUrl, consoleOf(organization.id).batchExport(id)),
			},
		}));
}

/** Returns the name of an event's object; of a person who joined also the address. */
function titleOf({ name, person }: Event) {
	if (person === null) return unlinked`${name ?? ""}`;
	const address = addressText(name ?? "");
	return person ? unlinked`${person} (${address})` : address;
}

/** Returns the mail about events of one type (docs/notifications.md#mails). */
export function compose(appUrl: string, digest: Digest): Omit<Mail, "to"> {
	const { type, organization, events, isMore } = digest;
	const { subject, line, label, advice } = WORDINGS[type];
	const n = events.length;
	const listed = events.slice(0, MAX_LISTED).map((event) => ({
		text: unlinked`${titleOf(event)} \u2013 ${trusted(dateAndTime(new Date(event.created_at)))}\n${line(event)}`,
		link: { label, url: linkTo(appUrl, pageFor(digest, event)) },
	}));
	const others = n - listed.length;
	const rest = isMore
		? unlinked`And more than ${others} others.`
		: others > 0
			? unlinked`And ${others} more.`
			: undefined;
	const { notifications } = consoleOf(organization.id);
	return {
		subject: subject(isMore ? `More than ${n}` : String(n), n === 1 && !isMore, organization.name),
		paragraphs: [
			unlinked`Since the last mail about this, in ${organization.name} on Tenantry:`,
			...listed,
			...(rest ? [rest] : []),
			trusted(advice),
			...retryLinks(appUrl, digest, events.slice(0, MAX_LISTED)),
		],
		why: {
			text: unlinked`You get this mail because ${organization.name} sends you this notification: ${trusted(TYPE_WORDS[type])} (${trusted(type)}). Its admins choose who gets which.`,
			link: { label: "Notifications", url: linkTo(appUrl, notifications) },
		},
	};
}
