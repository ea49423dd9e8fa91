/** What can be done with members, on their list and on the page of one. */
import { useState } from "preact/hooks";
import type { Member, MemberDetails } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { confirm } from "../../ui/dialog.tsx";
import { forEachRow, say } from "../../ui/feedback.tsx";
import { FormDialog, text } from "../../ui/form.tsx";
import { levelName, nameOf } from "../../ui/values.tsx";
import { LevelChoice, levelIn } from "./parts.tsx";

/** The user of a member, as lists and the page of a member have it. */
export type Person = Pick<Member["user"], "uuid" | "first_name" | "last_name" | "email">;

/** What the actions need to know of a member. */
export type Acted = Pick<Member, "id" | "level" | "is_2fa_enabled" | "has_social_auth"> & {
	user: Person;
};

export const isMe = ({ user }: Pick<Acted, "user">) => user.uuid === me.value?.uuid;

export const personOf = ({ user }: Pick<Acted, "user">) => nameOf(user);

/** The consequences of a removal, for a person or several. */
const REMOVAL =
	"immediately loses access to the organization and all its projects. Their API keys no longer work in it, and invites that they sent stop working.";

const plural = (count: number, words: string) =>
	count === 0 ? [] : [`${count} ${words}${count === 1 ? "" : "s"}`];

const listed = new Intl.ListFormat("en");

/** Says what somebody has made, which stays when they leave; undefined if it is nothing. */
export function madeBy({ service_accounts, batch_exports, webhooks }: MemberDetails) {
	const keys = service_accounts.reduce((sum, account) => sum + account.keys, 0);
	const [accounts] = plural(service_accounts.length, "service account");
	const made = [
		...(accounts ? [keys > 0 ? `${accounts} with ${plural(keys, "key")}` : accounts] : []),
		...plural(batch_exports.length, "export"),
		...plural(webhooks.length, "webhook"),
	];
	return made.length > 0 ? listed.format(made) : undefined;
}

/** The consequences of the removal of one person. */
function Consequences({ details }: { details: MemberDetails }) {
	const made = madeBy(details);
	const ends = [
		...plural(details.sessions.length, "session"),
		...plural(details.keys.length, "key"),
		...plural(details.apps.length, "app"),
	];
	return (
		<>
			<p>This person {REMOVAL}</p>
			{ends.length > 0 && <p>Loses access: {listed.format(ends)}.</p>}
			{made && (
				<p>
					<strong>
						{nameOf(details)} made {made}.
					</strong>{" "}
					They stay and keep working. If this person may have copied keys or secrets, roll them.
				</p>
			)}
		</>
	);
}

/** Returns what the user may do with members, and the removal of some. */
export function useRights(reload: () => void) {
	const { organization, at, isAdmin, isOwner } = useOrganization();
	const mayChange = (member: Acted) =>
		isAdmin && !isMe(member) && member.level <= organization.membership_level;
	return {
		mayChange,
		mayReset: (member: Acted) =>
			member.is_2fa_enabled &&
			mayChange(member) &&
			(isOwner || member.level < organization.membership_level),
		/** Another owner is removed after a change of their level. */
		mayRemove: (member: Acted) => mayChange(member) && member.level < 15,
		async remove(members: readonly Acted[]) {
			const names = members.map(personOf).join(", ");
			const [only] = members.length === 1 ? members : [];
			const isSure = await confirm({
				title: only ? `Remove ${names}?` : `Remove ${members.length} members?`,
				text: only ? (
					<Consequences details={await api.members.getDetails({ ...at, user: only.user.uuid })} />
				) : (
					`Each of them ${REMOVAL} Chosen: ${names}.`
				),
				action: only ? "Remove member" : "Remove members",
			});
			if (!isSure) return false;
			const removing = forEachRow(members, personOf, ({ user }) =>
				api.members.remove({ ...at, user: user.uuid }),
			);
			await removing.finally(reload);
			say(
				only
					? `${names} is no longer a member.`
					: `${members.length} people are no longer members.`,
			);
			return true;
		},
	};
}

/** Changes the level of members, unless somebody else has changed it since it was shown. */
export function ChangeLevel({
	members,
	onClose,
}: {
	members: readonly Acted[];
	/** Called also after a part of the changes, so the list has to be loaded again. */
	onClose: () => void;
}) {
	const { at } = useOrganization();
	const [first] = members;
	/** The levels that the dialog has shown to the user. */
	const [known, setKnown] = useState(new Map(members.map(({ id, level }) => [id, level])));
	const who = members.length === 1 && first ? personOf(first) : `${members.length} members`;
	async function change({ id, user }: Acted, level: ReturnType<typeof levelIn>) {
		if (level === known.get(id)) return;
		// Members come from a list, so they have no ETag.
		const current = (await api.members.list({ ...at, email: user.email })).results[0]?.level;
		if (current !== undefined && current !== known.get(id)) {
			setKnown((levels) => new Map(levels).set(id, current));
			throw new Error(
				`Someone else has changed the level of ${nameOf(user)} to ${levelName(current).toLowerCase()}. Choose again, or cancel.`,
			);
		}
		await api.members.update({ ...at, user: user.uuid }, { level });
		setKnown((levels) => new Map(levels).set(id, level));
	}
	return (
		<FormDialog
			title={`Change the level of ${who}`}
			action="Change level"
			onClose={onClose}
			onSubmit={async (fields) => {
				const level = levelIn(text(fields, "level"));
				await forEachRow(members, personOf, (member) => change(member, level));
				say(`The level of ${who} is now ${levelName(level).toLowerCase()}.`);
				onClose();
			}}
		>
			{members.length === 1 && first && first.level >= 15 && (
				<p>An owner can't be removed. To remove {who}, first choose another level.</p>
			)}
			<LevelChoice chosen={first?.level ?? 1} />
		</FormDialog>
	);
}
