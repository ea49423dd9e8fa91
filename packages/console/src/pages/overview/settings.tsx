import type { UpdateOrganizationBody } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useGoHome, useLeave, useOrganization } from "../../organization.tsx";
import { api, reloadMe } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { attempt, say } from "../../ui/feedback.tsx";
import { Check, Field, Form, Select, text } from "../../ui/form.tsx";
import { Going, itemsOf } from "../../ui/going.tsx";
import { Danger, DangerZone, PageView, Section } from "../../ui/page.tsx";
import { Facts, formatNumber, Snippet, Time } from "../../ui/values.tsx";

/** The rights of each access level to plugins. */
const PLUGIN_ACCESS = {
	0: "None: can't use plugins",
	3: "Configure: can configure shared plugins",
	6: "Install: can install and configure plugins",
	9: "Full: can also share plugins with all organizations",
};

const HOUR = 60;
const DAY = 24 * HOUR;

/** How long sessions can last without use and in total, in minutes. */
const IDLE = [15, 30, HOUR, 4 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY];
const LONGEST = [HOUR, 8 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY];

function durationOf(minutes: number) {
	const [unit, size] =
		minutes % DAY === 0
			? (["day", DAY] as const)
			: minutes % HOUR === 0
				? (["hour", HOUR] as const)
				: (["minute", 1] as const);
	const style = { style: "unit", unit, unitDisplay: "long" } as const;
	return new Intl.NumberFormat(undefined, style).format(minutes / size);
}

/** Choices of a duration, with the current one, which can be any. */
const durations = (minutes: number[], current: number) =>
	[...new Set([...minutes, current])]
		.sort((a, b) => a - b)
		.map((each) => [String(each), durationOf(each)] as const);

const LABELS = {
	name: "Name",
	enforce_2fa: "Second factor",
	keys_must_expire: "Keys must expire",
	is_member_join_email_enabled: "Mails about new members",
	session_idle_minutes: "Unused sessions end after",
	session_max_minutes: "Sessions end after",
};

type Values = ReturnType<typeof valuesOf>;

const valuesOf = (fields: FormData) => ({
	name: text(fields, "name"),
	enforce_2fa: fields.has("enforce_2fa"),
	keys_must_expire: fields.has("keys_must_expire"),
	is_member_join_email_enabled: fields.has("is_member_join_email_enabled"),
	session_idle_minutes: Number(text(fields, "session_idle_minutes")),
	session_max_minutes: Number(text(fields, "session_max_minutes")),
});

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesOf(
	values: Values,
	saved: Omit<Values, "enforce_2fa"> & { enforce_2fa: boolean | null },
) {
	const changes: UpdateOrganizationBody = {};
	if (values.name !== saved.name) changes.name = values.name;
	if (values.enforce_2fa !== (saved.enforce_2fa ?? false)) changes.enforce_2fa = values.enforce_2fa;
	if (values.keys_must_expire !== saved.keys_must_expire)
		changes.keys_must_expire = values.keys_must_expire;
	if (values.is_member_join_email_enabled !== saved.is_member_join_email_enabled)
		changes.is_member_join_email_enabled = values.is_member_join_email_enabled;
	if (values.session_idle_minutes !== saved.session_idle_minutes)
		changes.session_idle_minutes = values.session_idle_minutes;
	if (values.session_max_minutes !== saved.session_max_minutes)
		changes.session_max_minutes = values.session_max_minutes;
	return changes;
}

/** How many members have no second factor, with a button that tells them. */
function WithoutFactor() {
	const { at, to } = useOrganization();
	const { data } = useLoad(
		(signal) => api.members.list({ ...at, is_2fa_enabled: false, limit: 1 }, { signal }),
		[at.organization],
	);
	if (!data || data.count === 0) return null;
	const n = data.count;
	async function tell() {
		const isSure = await confirm({
			title: `Ask ${n === 1 ? "1 member" : `${formatNumber(n)} members`} to set up a second factor?`,
			text: "Each gets a mail with a link to the page of their account. You can send it once a day.",
			action: "Send mails",
			isDangerous: false,
		});
		if (!isSure) return;
		const { mails } = await api.members.remind(at);
		say(
			mails === 0
				? "No mails are sent: the service sends none, or nobody has proved their address."
				: `${mails === 1 ? "1 member is" : `${formatNumber(mails)} members are`} told by mail.`,
		);
	}
	return (
		<p class="row">
			<a href={to("members?is_2fa_enabled=false")}>
				{n === 1 ? "1 member has" : `${formatNumber(n)} members have`} no second factor
			</a>
			<SmallButton onPress={tell}>Tell them</SmallButton>
		</p>
	);
}

function SettingsForm() {
	const { organization, reloadOrganization } = useOrganization();
	const { save, dialog, version } = useSave({
		read: () => api.organizations.get({ id: organization.id }),
		update: api.organizations.update,
		labels: LABELS,
		// The menu also shows the name.
		onSaved: () => Promise.all([reloadOrganization(), attempt(reloadMe)]),
	});
	async function submit(fields: FormData) {
		const changes = changesOf(valuesOf(fields), organization);
		if (Object.keys(changes).length === 0) return say("No changes to save.");
		return save(organization, changes, "The settings are saved.");
	}
	return (
		<>
			<Form key={version} action="Save" showsSaved onSubmit={submit}>
				<Field
					name="name"
					label="Name"
					required
					maxLength={64}
					defaultValue={organization.name}
					hint={`The slug “${organization.slug}” doesn't change.`}
				/>
				<Check
					name="enforce_2fa"
					label="Require a second factor to sign in"
					hint="Who has none sets one up at the next sign-in. API keys aren't affected."
					defaultChecked={organization.enforce_2fa ?? false}
				/>
				<WithoutFactor />
				<Select
					name="session_idle_minutes"
					label={LABELS.session_idle_minutes}
					options={durations(IDLE, organization.session_idle_minutes)}
					defaultValue={String(organization.session_idle_minutes)}
				/>
				<Select
					name="session_max_minutes"
					label={LABELS.session_max_minutes}
					options={durations(LONGEST, organization.session_max_minutes)}
					defaultValue={String(organization.session_max_minutes)}
					hint="Members then have to sign in to the console again. A change applies to open sessions within an hour of their next use."
				/>
				<Check
					name="keys_must_expire"
					label="API keys must expire"
					defaultChecked={organization.keys_must_expire}
					hint="New keys need an expiry date. Existing keys without one keep working, but can't be changed or rolled."
				/>
				<Check
					name="is_member_join_email_enabled"
					label="Send a mail to the other admins when someone joins"
					defaultChecked={organization.is_member_join_email_enabled}
				/>
			</Form>
			{dialog}
		</>
	);
}

function Leave() {
	const { isOwner } = useOrganization();
	const leave = useLeave();
	return (
		<Danger
			title="Leave this organization"
			text={
				isOwner
					? "Owners can't leave. Ask another owner to lower your level first."
					: "You lose access immediately."
			}
			action={!isOwner && "Leave organization"}
			onPress={leave}
		/>
	);
}

function Delete() {
	const { organization } = useOrganization();
	const goHome = useGoHome();
	async function remove() {
		const { name } = organization;
		const isSure = await confirm({
			title: `Delete ${name}?`,
			text: (
				<>
					<p>
						Its projects, exports, plugins, webhooks, domains, invites and memberships are deleted,
						and running exports are cancelled. Exported data stays. Its owners get a mail with a
						link that restores it for 30 days; then it is gone for good.
					</p>
					<Going
						load={async (signal) =>
							itemsOf(await api.organizations.getContents({ id: organization.id }, { signal }))
						}
					/>
				</>
			),
			action: "Delete organization",
			typed: name,
		});
		if (!isSure) return;
		await api.organizations.delete(organization);
		await goHome(`${name} is deleted. A link that restores it is in a mail to its owners.`);
	}
	return (
		<Danger
			title="Delete this organization"
			text="Deletes everything in it. For 30 days, its owners can restore it."
			action="Delete organization"
			onPress={remove}
		/>
	);
}

export default function Settings() {
	const { organization, isAdmin, isOwner } = useOrganization();
	return (
		<PageView title="Settings">
			{isAdmin && <SettingsForm />}
			<Section title="About this organization">
				<div class="panel">
					<Facts
						rows={[
							...(isAdmin
								? []
								: ([
										["Name", organization.name],
										["Second factor", organization.enforce_2fa ? "Required" : "Optional"],
										[
											"API keys",
											organization.keys_must_expire ? "Must expire" : "Can have no expiry date",
										],
									] as const)),
							["Plugin access", PLUGIN_ACCESS[organization.plugins_access_level]],
							["Created", <Time key="created" value={organization.created_at} />],
							["ID", <Snippet key="id" value={organization.id} />],
						]}
					/>
				</div>
			</Section>
			<DangerZone>
				<Leave />
				{isOwner && <Delete />}
			</DangerZone>
		</PageView>
	);
}
