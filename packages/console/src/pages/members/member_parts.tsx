/** The sections of the page of a member. */
import type { MemberDetails } from "tenantry-client";
import { listOf, useList } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { deviceOf } from "../../ui/browsers.ts";
import { SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { providerName } from "../../ui/providers.ts";
import { type Scope, summaryOf } from "../../ui/scopes.ts";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, nameOf, Time } from "../../ui/values.tsx";
import { columnsOf } from "../events/entries.tsx";

type Part = { details: MemberDetails; reload: () => Promise<unknown> };

type Key = MemberDetails["keys"][number];
type App = MemberDetails["apps"][number];
type Session = MemberDetails["sessions"][number];

/** Whether the user may end what gives the member access. Their own is on the page Account. */
function useMayEnd({ uuid, level }: MemberDetails) {
	const { organization, isAdmin } = useOrganization();
	return isAdmin && uuid !== me.value?.uuid && (level ?? 0) <= organization.membership_level;
}

/** The columns that keys and apps have in common. */
const uses = <T extends { scopes: string[]; last_used_at: string | null }>(): Column<T>[] => [
	// The service has no other scopes than those that the client knows.
	{ title: "Permissions", cell: ({ scopes }) => summaryOf(scopes.filter(isScope)) },
	{
		title: "Last used",
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
];

const isScope = (text: string): text is Scope => text === "*" || text.includes(":");

export function Keys({ details, reload }: Part) {
	const { at } = useOrganization();
	const mayEnd = useMayEnd(details);
	async function revoke({ id, label }: Key) {
		const isSure = await confirm({
			title: `Revoke “${label}” of ${nameOf(details)}?`,
			text: "Programs that use it fail immediately, also in other organizations of this person, who gets a mail. This can't be undone.",
			action: "Revoke key",
		});
		if (!isSure) return;
		await api.members.revokeKey({ ...at, user: details.uuid, id });
		say(`“${label}” is revoked.`);
		await reload();
	}
	return (
		<Section title="Keys">
			<Table
				list={listOf([...details.keys])}
				label="Keys"
				empty={<p class="quiet">None that can access this organization.</p>}
				columns={[
					{ title: "Name", cell: ({ label }) => <strong>{label}</strong> },
					...uses<Key>(),
					{
						title: "Expires",
						cell: ({ expires_at }) =>
							expires_at ? <Time value={expires_at} isRelative /> : "Never",
					},
					...(mayEnd
						? [
								buttons<Key>((key) => (
									<SmallButton aria-label={`Revoke ${key.label}`} onPress={() => revoke(key)}>
										Revoke
									</SmallButton>
								)),
							]
						: []),
				]}
			/>
		</Section>
	);
}

export function Apps({ details, reload }: Part) {
	const { at } = useOrganization();
	const mayEnd = useMayEnd(details);
	async function end({ id, name }: App) {
		const isSure = await confirm({
			title: `End the access of ${name}?`,
			text: `The app loses the access that ${nameOf(details)} has given it, also to other organizations. It can ask again.`,
			action: "End access",
		});
		if (!isSure) return;
		await api.organizationOauthGrants.revoke({ ...at, id });
		say(`The access of ${name} is ended.`);
		await reload();
	}
	if (details.apps.length === 0) return null;
	return (
		<Section title="Apps">
			<Table
				list={listOf([...details.apps])}
				label="Apps"
				columns={[
					{ title: "Name", cell: ({ name }) => <strong>{name}</strong> },
					...uses<App>(),
					...(mayEnd
						? [
								buttons<App>((app) => (
									<SmallButton aria-label={`End access of ${app.name}`} onPress={() => end(app)}>
										End access
									</SmallButton>
								)),
							]
						: []),
				]}
			/>
		</Section>
	);
}

export function Sessions({ details, reload }: Part) {
	const { at } = useOrganization();
	const mayEnd = useMayEnd(details);
	async function endAll() {
		const isSure = await confirm({
			title: `End all sessions of ${nameOf(details)}?`,
			text: "This person has to sign in again, and gets a mail. Keys and apps keep their access.",
			action: "End sessions",
		});
		if (!isSure) return;
		await api.members.endSessions({ ...at, user: details.uuid });
		say(`All sessions of ${nameOf(details)} are ended.`);
		await reload();
	}
	const { sessions } = details;
	return (
		<Section
			title="Sessions"
			actions={
				mayEnd &&
				sessions.length > 0 && <SecondaryButton onPress={endAll}>End all sessions</SecondaryButton>
			}
		>
			<Table
				list={listOf([...sessions])}
				label="Sessions"
				empty={<p class="quiet">Not signed in.</p>}
				columns={[
					{ title: "Where", cell: (session: Session) => <strong>{deviceOf(session)}</strong> },
					{
						title: "Signed in",
						cell: ({ created_at, method }) => (
							<>
								<Time value={created_at} />
								<small class="below">{providerName(method)}</small>
							</>
						),
					},
					{
						title: "Last used",
						cell: ({ last_used_at }) => <Time value={last_used_at} isRelative />,
					},
				]}
			/>
		</Section>
	);
}

/** Something that a member has made. */
type Item = { id: string; path: string; name: string; kind: string; state: string | false };

/** What the member has made. It stays when they leave. */
export function Made({ details }: { details: MemberDetails }) {
	const { to } = useOrganization();
	const items: Item[] = [
		...details.service_accounts.map(({ id, name, keys }) => ({
			...{ id, name, kind: "Service account", path: `service_accounts/${id}` },
			state: `${keys} ${keys === 1 ? "key" : "keys"}`,
		})),
		...details.batch_exports.map(({ id, name, paused }) => ({
			...{ id, name, kind: "Export", path: `batch_exports/${id}` },
			state: paused && "Paused",
		})),
		...details.webhooks.map(({ id, name, enabled }) => ({
			...{ id, name, kind: "Webhook", path: `webhooks/${id}` },
			state: !enabled && "Disabled",
		})),
	];
	const isGone = !details.is_member;
	if (items.length === 0) return null;
	return (
		<Section title={isGone ? "Left behind" : "Made"}>
			{isGone && (
				<p class="quiet">
					This keeps working. If {nameOf(details)} may have copied keys or secrets, roll them.
				</p>
			)}
			<Table
				list={listOf(items)}
				label="Made"
				columns={[
					{
						title: "Name",
						cell: ({ path, name }) => (
							<a href={to(path)}>
								<strong>{name}</strong>
							</a>
						),
					},
					{ title: "Kind", cell: ({ kind }) => <span class="whole-words">{kind}</span> },
					{ title: "State", cell: ({ state }) => state && <Badge>{state}</Badge> },
				]}
			/>
		</Section>
	);
}

/** What ended when somebody was removed or left: the entries of the log about it. */
export function Ended({ email }: { email: string }) {
	const { at, organization } = useOrganization();
	const list = useList(
		(page, signal) =>
			api.activityLog.list({ ...at, ...page, name: email, activity: "deleted" }, { signal }),
		[organization.id, email],
	);
	return (
		<Section title="What ended">
			<div class="activity-log">
				<Table
					list={list}
					label="What ended"
					columns={columnsOf(() => {}, "one")}
					empty={<p class="quiet">The activity log has no entry about it any more.</p>}
				/>
			</div>
		</Section>
	);
}
