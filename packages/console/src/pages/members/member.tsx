/** The page of a member, or of somebody who was one (docs/organizations.md#the-page-of-a-member). */
import { useState } from "preact/hooks";
import { useRoute } from "preact-iso/router";
import { type MemberDetails, TenantryError } from "tenantry-client";
import { lazy } from "../../lazy.tsx";
import { type Reloading, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { Button, SecondaryButton } from "../../ui/button.tsx";
import { LoadedPage, PageView, Tabs } from "../../ui/page.tsx";
import { providerName } from "../../ui/providers.ts";
import { Badge, Facts, levelName, nameOf, Time } from "../../ui/values.tsx";
import { AdminsOnly } from "../events/admins_only.tsx";
import { type Acted, ChangeLevel, useRights } from "./member_actions.tsx";
import { Apps, Ended, Keys, Made, Sessions } from "./member_parts.tsx";
import { ResetFactor } from "./reset_factor.tsx";
import { SignInAccounts } from "./sign_in_accounts.tsx";

const MemberAccessTab = lazy(() => import("./member_access.tsx"));
const MemberActivity = lazy(() => import("./member_activity.tsx"));

/** A member as the actions on the list need it; undefined for somebody who isn't one. */
function actedOf(details: MemberDetails): Acted | undefined {
	const { id, level, is_2fa_enabled, has_social_auth } = details;
	return id === null || level === null
		? undefined
		: {
				id,
				level,
				user: details,
				is_2fa_enabled: is_2fa_enabled === true,
				has_social_auth: has_social_auth === true,
			};
}

/** What can be done with the member, above their page. */
function Actions({ member, reload }: { member: Acted; reload: () => Promise<unknown> }) {
	const { mayChange, mayReset, mayRemove, remove } = useRights(reload);
	const [open, setOpen] = useState<"level" | "factor" | "accounts">();
	const close = () => {
		setOpen(undefined);
		reload();
	};
	if (!mayChange(member)) return null;
	return (
		<>
			<SecondaryButton onPress={() => setOpen("level")}>Change level</SecondaryButton>
			{mayReset(member) && (
				<SecondaryButton onPress={() => setOpen("factor")}>Reset second factor</SecondaryButton>
			)}
			{member.has_social_auth && (
				<SecondaryButton onPress={() => setOpen("accounts")}>Sign-in accounts</SecondaryButton>
			)}
			{mayRemove(member) && (
				<Button class="danger" onPress={() => remove([member])}>
					Remove
				</Button>
			)}
			{open === "level" && <ChangeLevel members={[member]} onClose={close} />}
			{open === "factor" && <ResetFactor user={member.user} onClose={close} />}
			{open === "accounts" && <SignInAccounts user={member.user} onClose={close} />}
		</>
	);
}

/** Links to the projects of a member, with the levels in them. */
function Projects({ level, projects }: Pick<MemberDetails, "level" | "projects">) {
	const { to } = useOrganization();
	if ((level ?? 0) >= 8) return <>All</>;
	if (projects.length === 0) return <>All except private projects</>;
	return (
		<>
			All except private projects, and{" "}
			{projects.map((project, i) => (
				<span key={project.id}>
					{i > 0 && ", "}
					<a href={to(`projects/${project.id}`)}>{project.name}</a>
					{project.level >= 8 && " (admin)"}
				</span>
			))}
		</>
	);
}

function Roles({ roles }: Pick<MemberDetails, "roles">) {
	const { to } = useOrganization();
	return roles.length === 0 ? (
		<>None</>
	) : (
		<span>
			{roles.map(({ id, name }, i) => (
				<span key={id}>
					{i > 0 && ", "}
					<a href={to(`members/roles/${id}`)}>{name}</a>
				</span>
			))}
		</span>
	);
}

const waysOf = ({ identities }: MemberDetails) =>
	identities.length === 0
		? "A link by mail"
		: identities.map(({ method, email }) => `${providerName(method)} (${email})`).join(", ");

function MemberFacts({ details }: { details: MemberDetails }) {
	const { is_member, level, is_2fa_enabled } = details;
	return (
		<div class="panel">
			<Facts
				rows={[
					["Email address", details.email],
					...(is_member && level !== null
						? ([
								["Level", <Badge key="level">{levelName(level)}</Badge>],
								["Second factor", is_2fa_enabled ? <Badge mood="good">On</Badge> : "Off"],
								["Signs in with", waysOf(details)],
								["Last sign-in", <Time key="in" value={details.last_sign_in_at} />],
								["Last active", <Time key="active" value={details.last_active_at} />],
								["Projects", <Projects key="projects" {...details} />],
								["Roles", <Roles key="roles" {...details} />],
								["Joined", <Time key="joined" value={details.joined_at} />],
							] as const)
						: ([["Left", <Time key="left" value={details.left_at} />]] as const)),
				]}
			/>
		</div>
	);
}

const Overview = ({
	details,
	reload,
}: {
	details: MemberDetails;
	reload: () => Promise<unknown>;
}) => (
	<>
		<MemberFacts details={details} />
		{details.is_member ? (
			<>
				<Keys details={details} reload={reload} />
				<Apps details={details} reload={reload} />
				<Sessions details={details} reload={reload} />
			</>
		) : (
			<Ended email={details.email} />
		)}
		<Made details={details} />
	</>
);

function Loaded({
	details,
	reload,
	tab,
}: { details: MemberDetails; tab: string } & Pick<Reloading, "reload">) {
	const { to } = useOrganization();
	const path = to(`members/${details.uuid}`);
	const member = actedOf(details);
	const isMe = details.uuid === me.value?.uuid;
	return (
		<PageView
			title={nameOf(details)}
			state={member ? isMe && <Badge>You</Badge> : <Badge mood="warn">Not a member any more</Badge>}
			above={[[to("members"), "Members"]]}
			actions={member && <Actions member={member} reload={reload} />}
		>
			<Tabs
				label={nameOf(details)}
				current={tab ? `${path}/${tab}` : path}
				tabs={[
					[path, "Overview"],
					...(member ? [[`${path}/access`, "Access"] as const] : []),
					[`${path}/activity`, "Activity"],
				]}
			/>
			{tab === "activity" ? (
				<MemberActivity details={details} />
			) : tab === "access" ? (
				<MemberAccessTab details={details} />
			) : (
				<Overview details={details} reload={reload} />
			)}
		</PageView>
	);
}

export default function MemberPage() {
	const { at, organization, to } = useOrganization();
	const { member = "", tab = "" } = useRoute().params;
	const loaded = useLoad(
		(signal) => api.members.getDetails({ ...at, user: member }, { signal }),
		[organization.id, member],
	);
	const { error } = loaded;
	if (error instanceof TenantryError && error.status === 403)
		return <AdminsOnly title="Member" text="Your own account is on the page Account." />;
	return (
		<LoadedPage of={loaded} title="Member" above={[[to("members"), "Members"]]}>
			{(details) => <Loaded details={details} reload={loaded.reload} tab={tab} />}
		</LoadedPage>
	);
}
