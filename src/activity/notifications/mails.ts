import { pluralize } from "../../lib/plural.ts";
import { shorten } from "../../lib/shorten.ts";
import { linkTo, type Mail, singleLine } from "../../outbound/mail.ts";
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

const windowOf = (event: Event) =>
	`${detail(event, "data_interval_start")} to ${detail(event, "data_interval_end")}`;

const ofExport = (event: Event) =>
	`/api/projects/${event.project_id}/batch_exports/${detail(event, "batch_export_id")}`;

const ofRun = (event: Event) => `${ofExport(event)}/runs/${detail(event, "run_id")}`;

type Wording = {
	/** Returns the subject for `n` events of the organization. */
	subject: (n: string, isOne: boolean, organization: string) => string;
	/** Returns what happened. In the mail, it follows the object's name. */
	line: (event: Event) => string;
	/** Returns the path of the object. */
	path: (event: Event, organization_id: string) => string;
	/** What the events mean, and what to do. */
	advice: string;
};

const WORDINGS: Record<Type, Wording> = {
	"batch_export.paused": {
		subject: (n, isOne, of) => `${n} batch export${isOne ? " was" : "s were"} paused in ${of}`,
		line: (event) => `${detail(event, "reason")} The last error: ${errorOf(event)}`,
		path: ofExport,
		advice:
			"Fix the errors in the log of the export, then unpause it. To also export the windows of the pause, unpause it with a backfill.",
	},
	"batch_export_run.failed": {
		subject: (n, isOne, of) => `${n} run${isOne ? "" : "s"} of batch exports failed in ${of}`,
		line: (event) => `${windowOf(event)}: ${errorOf(event)} ${detail(event, "next_step")}`,
		path: ofRun,
		advice:
			"Some or all rows of these windows are missing from the destination. Fix the cause, then retry the runs.",
	},
	"batch_export_run.skipped": {
		subject: (n, isOne, of) => `${n} batch export${isOne ? "" : "s"} skipped windows in ${of}`,
		line: (event) =>
			`${pluralize(Number(detail(event, "windows")), "window")} from ${windowOf(event)}. ${errorOf(event)}`,
		path: ofExport,
		advice:
			"The rows of these windows are missing from the destination. Export what arrived in them with a backfill by arrival, as the log of the export says.",
	},
	"batch_export_run.completed": {
		subject: (n, isOne, of) =>
			`${n} run${isOne ? "" : "s"} of batch exports ${isOne ? "is" : "are"} complete in ${of}`,
		line: (event) => `${windowOf(event)}: ${pluralize(Number(detail(event, "rows")), "row")}`,
		path: ofRun,
		advice: "The rows of these windows have arrived at the destination.",
	},
	"plugin_job.failed": {
		subject: (n, isOne, of) => `${n} plugin job${isOne ? "" : "s"} failed in ${of}`,
		line: errorOf,
		path: (event) =>
			`/api/projects/${event.project_id}/plugin_configs/${detail(event, "plugin_config_id")}/logs`,
		advice: "For details, see the log of the plugin config.",
	},
	"key.expiring": {
		subject: (n, isOne, of) => `${n} API key${isOne ? " expires" : "s expire"} soon in ${of}`,
		line: (event) => `${detail(event, "mask_value")} expires at ${detail(event, "expires_at")}`,
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
			`${n} domain${isOne ? " has" : "s have"} lost the DNS record that verifies ${isOne ? "it" : "them"} in ${of}`,
		line: (event) => `missing since ${detail(event, "missing_since")}: ${errorOf(event)}`,
		path: (event, organization_id) =>
			`/api/organizations/${organization_id}/domains/${event.item_id}`,
		advice:
			"The domain stays verified, and nothing changes for people who sign in. Publish its verification_challenge as a TXT record again, or delete the domain.",
	},
	"webhook.disabled": {
		subject: (n, isOne, of) => `${n} webhook${isOne ? " was" : "s were"} disabled in ${of}`,
		line: (event) => `${detail(event, "reason")} The last error: ${errorOf(event)}`,
		path: (event, organization_id) =>
			`/api/organizations/${organization_id}/webhooks/${event.item_id}`,
		advice:
			"Fix the endpoint, then set enabled to true. The webhook's events wait until then, as long as the activity log keeps them, and arrive in order.",
	},
	"audit_stream.failed": {
		subject: (n, isOne, of) => `${n} audit stream${isOne ? " fails" : "s fail"} in ${of}`,
		line: errorOf,
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
		const name = event.name ? `${singleLine(event.name)}: ` : "";
		return `${event.created_at} – ${name}${line(event)}\n${link(path(event, organization.id))}`;
	});
	const others = n - listed.length;
	const rest = isMore
		? `And more than ${others} others.`
		: others > 0
			? `And ${others} more.`
			: undefined;
	return {
		subject: subject(isMore ? `More than ${n}` : String(n), n === 1 && !isMore, organization.name),
		paragraphs: [
			`Since the last mail about this, in ${singleLine(organization.name)} on Tenantry:`,
			...listed,
			...(rest ? [rest] : []),
			advice,
			`You get this mail because ${singleLine(organization.name)} has notifications for ${type}. An admin can change the recipients or turn them off: PATCH ${link(`/api/organizations/${organization.id}/notifications`)}`,
		],
		link: { label: "About notifications", url: link("/docs/notifications") },
	};
}
