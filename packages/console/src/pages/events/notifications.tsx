import { useState } from "preact/hooks";
import type { Notifications, Subscription } from "tenantry-client";
import { type Loaded, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton, useAction } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { Show } from "../../ui/feedback.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { PeopleDialog } from "./people_dialog.tsx";

type Type = Subscription["type"];
type Recipients = Subscription["recipients"];
type Person = { uuid: string; first_name: string; email: string };

/** The title and description of each type, and the maximum frequency of mails. */
const TYPES: Record<Type, readonly [title: string, when: string, often: string]> = {
	"batch_export_run.failed": [
		"A run failed",
		"A run of an export failed, and isn’t retried.",
		"one mail a day for each export",
	],
	"batch_export.paused": [
		"An export was paused",
		"The service paused an export because its last three runs failed.",
		"one mail a day for each export",
	],
	"batch_export_run.skipped": [
		"Runs were skipped",
		"Windows of an export were skipped while the service was down.",
		"one mail a day for each export",
	],
	"batch_export_run.completed": [
		"A run was completed",
		"A run of an export was completed.",
		"one mail a day for each export",
	],
	"plugin_job.failed": [
		"A plugin job failed",
		"A job or scheduled task of a plugin failed.",
		"one mail an hour",
	],
	"key.expiring": [
		"A key is about to expire",
		"A key expires within seven days.",
		"one mail an hour",
	],
	"domain.unverified": [
		"A domain’s TXT record is missing",
		"The TXT record of a verified domain was missing on three days.",
		"one mail an hour",
	],
	"webhook.disabled": [
		"A webhook was disabled",
		"The endpoint of a webhook no longer exists, or failed for five days.",
		"one mail an hour",
	],
	"audit_stream.failed": [
		"An audit stream is failing",
		"An audit stream can’t write to its bucket.",
		"one mail a day for each stream",
	],
	"audit_stream.delivered": [
		"An audit file was written",
		"With its number and digest, to compare the files with later.",
		"one mail a day for each stream",
	],
	"member.created": [
		"Somebody joined",
		"Somebody joined through an invite, single sign-on or your identity provider.",
		"one mail an hour",
	],
};

const GROUPS: readonly (readonly [title: string, types: readonly Type[]])[] = [
	[
		"Exports",
		[
			"batch_export_run.failed",
			"batch_export.paused",
			"batch_export_run.skipped",
			"batch_export_run.completed",
		],
	],
	["Plugins", ["plugin_job.failed"]],
	["People", ["member.created"]],
	["Security", ["key.expiring", "domain.unverified"]],
	["Delivery", ["webhook.disabled", "audit_stream.failed", "audit_stream.delivered"]],
];

const PEOPLE = "people";

function choiceOf(recipients: Recipients) {
	if (!Array.isArray(recipients)) return recipients;
	return recipients.length > 0 ? PEOPLE : "";
}

const optionsOf = (type: Type) => [
	["admins", "Admins and owners"] as const,
	...(type === "key.expiring" ? [["owner", "The key’s owner"] as const] : []),
	[PEOPLE, "Chosen people…"] as const,
	["", "Nobody"] as const,
];

/** The number of members that are loaded to show names instead of UUIDs. */
const MEMBERS = 200;

type People = ReadonlyMap<string, Person>;

/** Returns members by UUID, if a list of recipients needs their names. */
async function peopleOf(
	organization: string,
	subscriptions: Subscription[],
	signal?: AbortSignal,
): Promise<People> {
	const hasLists = subscriptions.some(
		({ recipients }) => Array.isArray(recipients) && recipients.length > 0,
	);
	if (!hasLists) return new Map();
	const { results } = await api.members.list({ organization, limit: MEMBERS }, { signal });
	return new Map<string, Person>(results.map(({ user }) => [user.uuid, user]));
}

type Data = { read: Notifications; people: People };

async function load(organization: string, signal?: AbortSignal): Promise<Data> {
	const read = await api.notifications.get({ organization }, { signal });
	return { read, people: await peopleOf(organization, read.subscriptions, signal) };
}

const nameOf = ({ first_name, email }: Person) => first_name || email;

/** Returns recipients as text, which the dialog for conflicts compares. */
function wordsOf({ type, recipients }: Subscription, people: People) {
	if (!Array.isArray(recipients) || recipients.length === 0)
		return optionsOf(type).find(([value]) => value === choiceOf(recipients))?.[1] ?? "";
	// Names aren't unique.
	return recipients.map((uuid) => people.get(uuid)?.email ?? uuid).join(", ");
}

const CHOSEN = Symbol("chosen recipients");

type Chosen = { subscription: Subscription; people: People };

/** The recipients of a type as text, with the subscription to save. */
type Change = Record<string, string> & { [CHOSEN]: Chosen };

/** Saves the recipients of a type, unless someone else has changed them since they were loaded. */
function useSaveRecipients(data: Data, { reload }: Loaded<Data>) {
	const { at, organization } = useOrganization();
	const { save, dialog } = useSave<Data, Change>({
		read: () => load(organization.id),
		update: async (old, change) => {
			const { subscription, people } = change[CHOSEN];
			const body = { subscriptions: [subscription] };
			return {
				read: await api.notifications.update({ ...at, ...old.read }, body),
				people: new Map([...old.people, ...people]),
			};
		},
		onSaved: reload,
		labels: Object.fromEntries(Object.entries(TYPES).map(([type, [title]]) => [type, title])),
		fields: ({ read, people }) =>
			Object.fromEntries(read.subscriptions.map((one) => [one.type, wordsOf(one, people)])),
	});
	async function change(subscription: Subscription) {
		// The newly chosen people may not be loaded yet.
		const people = await peopleOf(organization.id, [subscription]);
		const words = wordsOf(subscription, people);
		const chosen = { [CHOSEN]: { subscription, people } };
		const changes = Object.assign(chosen, { [subscription.type]: words });
		const isOff = choiceOf(subscription.recipients) === "";
		await save(data, changes, isOff ? "Mails turned off." : "Recipients saved.");
	}
	return { change, dialog };
}

/**
 * The list of the kinds of recipients. It keeps showing the saved value until another one is saved.
 */
const Choice = ({
	type,
	value,
	isBusy,
	onChoose,
}: {
	type: Type;
	value: string;
	isBusy: boolean;
	onChoose: (chosen: string) => void;
}) => (
	<select
		aria-label={`Recipients: ${TYPES[type][0]}`}
		aria-disabled={isBusy}
		aria-busy={isBusy}
		value={value}
		onChange={({ currentTarget }) => {
			const chosen = currentTarget.value;
			currentTarget.value = value;
			if (!isBusy) onChoose(chosen);
		}}
	>
		{optionsOf(type).map(([one, words]) => (
			<option key={one} value={one} selected={one === value}>
				{words}
			</option>
		))}
	</select>
);

/** Returns the names of people; those that aren't loaded are counted. */
function namesOf(uuids: readonly string[], people: People) {
	const names = uuids.flatMap((uuid) => people.get(uuid) ?? []).map(nameOf);
	const rest = uuids.length - names.length;
	const more = rest === 1 ? "one more" : `${rest} more`;
	return (rest > 0 ? [...names, more] : names).join(", ");
}

function Recipient({
	subscription: { type, recipients },
	people,
	onChange,
}: {
	subscription: Subscription;
	people: People;
	onChange: (chosen: Subscription) => Promise<void>;
}) {
	const { isAdmin } = useOrganization();
	const { isBusy, run } = useAction();
	const choose = (recipients: Recipients) => run(() => onChange({ type, recipients }));
	const [isChoosing, setChoosing] = useState(false);
	const [title] = TYPES[type];
	const value = choiceOf(recipients);
	const list = Array.isArray(recipients) ? recipients : [];
	const named = namesOf(list, people);
	if (!isAdmin)
		return <>{list.length > 0 ? named : optionsOf(type).find(([one]) => one === value)?.[1]}</>;
	return (
		<>
			<Choice
				type={type}
				value={value}
				isBusy={isBusy}
				onChoose={(chosen) =>
					chosen === PEOPLE
						? setChoosing(true)
						: choose(chosen === "admins" || chosen === "owner" ? chosen : [])
				}
			/>
			{list.length > 0 && (
				<p class="people">
					{named}{" "}
					<button
						type="button"
						class="link"
						aria-disabled={isBusy}
						onClick={() => isBusy || setChoosing(true)}
					>
						Change
					</button>
				</p>
			)}
			{isChoosing && (
				<PeopleDialog
					title={title}
					chosen={list}
					onClose={() => setChoosing(false)}
					onChosen={(uuids) => {
						setChoosing(false);
						choose(uuids);
					}}
				/>
			)}
		</>
	);
}

function Subscriptions({ data, loaded }: { data: Data; loaded: Loaded<Data> }) {
	const { change, dialog } = useSaveRecipients(data, loaded);
	return (
		<>
			{GROUPS.map(([group, types]) => (
				<section key={group} class="subscriptions">
					<h2>{group}</h2>
					<ul>
						{types.map((type) => {
							const subscription = data.read.subscriptions.find((one) => one.type === type);
							const [title, when, often] = TYPES[type];
							return (
								subscription && (
									<li key={type}>
										<div>
											<strong>{title}</strong>
											<small class="below">
												{when} At most {often}.
											</small>
										</div>
										<div class="recipients">
											<Recipient
												subscription={subscription}
												people={data.people}
												onChange={change}
											/>
										</div>
									</li>
								)
							);
						})}
					</ul>
				</section>
			))}
			{dialog}
		</>
	);
}

/** The types of a webhook for notices: all that can be mailed, except success. */
const NOTICES = Object.keys(TYPES).filter(
	(type) => !["batch_export_run.completed", "audit_stream.delivered"].includes(type),
);

/** Leads to a new webhook with these types. */
const ElsewhereThanMail = ({ to }: { to: (path: string) => string }) => (
	<Section title="Notices in Slack, Teams or PagerDuty">
		<p>
			A webhook can send the same events as messages to a channel, or as alerts. It sends each event
			at once, and those of all projects.
		</p>
		<p>
			<LinkButton href={to(`webhooks/new?types=${NOTICES.join(",")}`)}>
				Add webhook for notices
			</LinkButton>
		</p>
	</Section>
);

export default function NotificationsPage() {
	const { organization, isAdmin, to } = useOrganization();
	const loaded = useLoad((signal) => load(organization.id, signal), [organization.id]);
	return (
		<PageView
			title="Notifications"
			lead={
				<>
					Choose who gets mails about what happens without you. Mails combine several events, and
					leave out projects that the recipient can’t see.
					{!isAdmin && " Only admins can change these settings."}
				</>
			}
		>
			<Show of={loaded}>{(data) => <Subscriptions data={data} loaded={loaded} />}</Show>
			{isAdmin && <ElsewhereThanMail to={to} />}
		</PageView>
	);
}
