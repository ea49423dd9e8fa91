import { pluralize, shorten } from "../../lib/text.ts";
import {
	linkTo,
	type Mail,
	type MailText,
	singleLine,
	trusted,
	unlinked,
} from "../../outbound/mail.ts";
import type { EventRow } from "../events/event.ts";
import type { Type } from "./types.ts";

/** The columns of an event that mails need. */
export type Event = Pick<
	EventRow,
	"position" | "item_id" | "project_id" | "name" | "trigger" | "created_at"
>;

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

const windowOf = (event: Event) =>
	unlinked`${own(event, "data_interval_start")} to ${own(event, "data_interval_end")}`;

const ofExport = (event: Event) =>
	`/api/projects/${event.project_id}/batch_exports/${detail(event, "batch_export_id")}`;

const ofRun = (event: Event) => `${ofExport(event)}/runs/${detail(event, "run_id")}`;

type Wording = {
	/** Returns the subject for `n` events of the organization. */
	subject: (n: string, isOne: boolean, organization: string) => MailText;
	/** Returns what happened. In the mail, it follows the object's name. */
	line: (event: Event) => MailText;
	/** Returns the path of the object. */
	path: (event: Event, organization_id: string) => string;
	/** The meaning of the events, and advice. */
	advice: string;
};

const WORDINGS: Record<Type, Wording> = {
	"batch_export.paused": {
		subject: (n, isOne, of) =>
			unlinked`${n} batch export${isOne ? " was" : "s were"} paused in ${of}`,
		line: (event) => unlinked`${own(event, "reason")} The last error: ${errorOf(event)}`,
		path: ofExport,
		advice:
			"Fix the errors in the log of the export, then unpause it. To also export the windows of the pause, unpause it with a backfill.",
	},
	"batch_export_run.failed": {
		subject: (n, isOne, of) =>
			unlinked`${n} run${isOne ? "" : "s"} of batch exports failed in ${of}`,
		line: (event) => unlinked`${windowOf(event)}: ${errorOf(event)} ${own(event, "next_step")}`,
		path: ofRun,
		advice:
			"Some or all rows of these windows are missing from the destination. Fix the cause, then retry the runs.",
	},
	"batch_export_run.skipped": {
		subject: (n, isOne, of) =>
			unlinked`${n} batch export${isOne ? "" : "s"} skipped windows in ${of}`,
		line: (event) =>
			unlinked`${count(event, "windows", "window")} from ${windowOf(event)}. ${errorOf(event)}`,
		path: ofExport,
		advice:
			"The rows of these windows are missing from the destination. Export what arrived in them with a backfill by arrival, as the log of the export says.",
	},
	"batch_export_run.completed": {
		subject: (n, isOne, of) =>
			unlinked`${n} run${isOne ? "" : "s"} of batch exports ${isOne ? "is" : "are"} complete in ${of}`,
		line: (event) => unlinked`${windowOf(event)}: ${count(event, "rows", "row")}`,
		path: ofRun,
		advice: "The rows of these windows have arrived at the destination.",
	},
	"plugin_job.failed": {
		subject: (n, isOne, of) => unlinked`${n} plugin job${isOne ? "" : "s"} failed in ${of}`,
		line: (event) => unlinked`${errorOf(event)}`,
		path: (event) =>
			`/api/projects/${event.project_id}/plugin_configs/${detail(event, "plugin_config_id")}/logs`,
		advice: "For details, see the log of the plugin config.",
	},
	"key.expiring": {
		subject: (n, isOne, of) =>
			unlinked`${n} API key${isOne ? " expires" : "s expire"} soon in ${of}`,
		line: (event) => unlinked`${own(event, "mask_value")} expires at ${own(event, "expires_at")}`,
		path: (event, organization_id) => {
			const account = detail(event, "service_account_id");
			return account
				? `/api/organizations/${organization_id}/service_accounts/${account}/keys/${event.item_id}`
				: `/api/personal_api_keys/${event.item_id}`;
		},
		advice:
			"Requests with an expired key are rejected. Give the key a later expires_at, or replace it before then.",
	},
	"domain.unverified": {
		subject: (n, isOne, of) =>
			unlinked`${n} domain${isOne ? " has" : "s have"} lost the DNS record that verifies ${isOne ? "it" : "them"} in ${of}`,
		line: (event) => unlinked`missing since ${own(event, "missing_since")}: ${errorOf(event)}`,
		path: (event, organization_id) =>
			`/api/organizations/${organization_id}/domains/${event.item_id}`,
		advice:
			"The domain stays verified, and nothing changes for people who sign in. Publish its verification_challenge as a TXT record again, or delete the domain.",
	},
	"webhook.disabled": {
		subject: (n, isOne, of) => unlinked`${n} webhook${isOne ? " was" : "s were"} disabled in ${of}`,
		line: (event) => unlinked`${own(event, "reason")} The last error: ${errorOf(event)}`,
		path: (event, organization_id) =>
			`/api/organizations/${organization_id}/webhooks/${event.item_id}`,
		advice:
			"Fix the endpoint, then set enabled to true. The webhook's events wait until then, as long as the activity log keeps them, and arrive in order.",
	},
	"audit_stream.failed": {
		subject: (n, isOne, of) => unlinked`${n} audit stream${isOne ? " fails" : "s fail"} in ${of}`,
		line: (event) => unlinked`${errorOf(event)}`,
		path: (event, organization_id) =>
			`/api/organizations/${organization_id}/audit_streams/${event.item_id}`,
		advice:
			"Fix the cause, or change the destination. A failing stream retries at least every hour and skips nothing, but entries that it hasn't delivered after 395 days are deleted.",
	},
};

type Digest = {
	type: Type;
	organization: { id: string; name: string };
	/** Oldest first. */
	events: Event[];
	/** Whether there were more events than in `events`. */
	isMore: boolean;
};

/** Returns the mail about events of one type (docs/notifications.md#mails). */
export function compose(
	appUrl: string,
	{ type, organization, events, isMore }: Digest,
): Omit<Mail, "to"> {
	const { subject, line, path, advice } = WORDINGS[type];
	const link = (path: string) => linkTo(appUrl, path);
	const n = events.length;
	const listed = events.slice(0, MAX_LISTED).map((event) => {
		const name = event.name ? unlinked`${event.name}: ` : "";
		return unlinked`${trusted(`${event.created_at} – `)}${name}${line(event)}\n${trusted(link(path(event, organization.id)))}`;
	});
	const others = n - listed.length;
	const rest = isMore
		? unlinked`And more than ${others} others.`
		: others > 0
			? unlinked`And ${others} more.`
			: undefined;
	return {
		subject: subject(isMore ? `More than ${n}` : String(n), n === 1 && !isMore, organization.name),
		paragraphs: [
			unlinked`Since the last mail about this, in ${organization.name} on Tenantry:`,
			...listed,
			...(rest ? [rest] : []),
			trusted(advice),
			unlinked`You get this mail because ${organization.name} has notifications for ${trusted(type)}. An admin can change the recipients or turn them off: PATCH ${trusted(link(`/api/organizations/${organization.id}/notifications`))}`,
		],
		link: { label: "About notifications", url: link("/docs/notifications") },
	};
}
