import type { OrganizationOauthGrant } from "tenantry-client";
import { has, useLoad, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { nameOf } from "../../ui/values.tsx";
import { AdminsOnly } from "../events/admins_only.tsx";
import { AllowedApps } from "./allowed_apps.tsx";
import { app, permissions, times } from "./grants.tsx";
import { RegisteredApps } from "./registered_apps.tsx";

/** The level of owners, whose access only owners can end. */
const OWNER = 15;

/** Returns whether the caller may end somebody's access: nobody's, until the owners are loaded. */
function useMayEnd() {
	const { at, organization, isOwner } = useOrganization();
	const { data } = useLoad(
		async (signal) =>
			isOwner ? [] : (await api.members.list({ ...at, level: OWNER }, { signal })).results,
		[organization.id, isOwner],
	);
	const owners = data && new Set(data.map(({ user }) => user.uuid));
	return (uuid: string) => owners !== undefined && !owners.has(uuid);
}

/** The apps that members have given access to the organization. */
function OfMembers() {
	const { at, organization } = useOrganization();
	const mayEnd = useMayEnd();
	const [{ search }] = useQuery();
	async function end({ id, client_name, user }: OrganizationOauthGrant) {
		const isSure = await confirm({
			title: `End the access of “${client_name}”?`,
			text: `The app can no longer do anything for ${nameOf(user)}, also in other organizations. ${nameOf(user)} gets a mail, and can allow it again.`,
			action: "End access",
		});
		if (!isSure) return;
		await api.organizationOauthGrants.revoke({ ...at, id });
		say(`The access of “${client_name}” is ended.`);
		list.reload();
	}
	const columns: Column<OrganizationOauthGrant>[] = [
		app(),
		{
			title: "Person",
			value: ({ user }) => user.email,
			cell: ({ user }) => (
				<>
					{nameOf(user)}
					<small class="below">{user.email}</small>
				</>
			),
		},
		permissions(),
		...times<OrganizationOauthGrant>(),
		buttons((grant) =>
			mayEnd(grant.user.uuid) ? (
				<SmallButton
					aria-label={`End access of ${grant.client_name} for ${nameOf(grant.user)}`}
					onPress={() => end(grant)}
				>
					End access
				</SmallButton>
			) : null,
		),
	];
	const list = useSorted(
		(range, options) => api.organizationOauthGrants.list({ ...at, ...range }, options),
		[organization.id, search],
		{
			columns,
			name: "apps",
			matches: search
				? ({ client_name, client_host, user }) =>
						[client_name, client_host ?? "", nameOf(user), user.email].some((text) =>
							has(text, search),
						)
				: undefined,
		},
	);
	return (
		<Section title="Apps of members">
			<Filters>
				<Search label="Search apps and people" />
			</Filters>
			<Table
				list={list}
				label="Apps of members"
				empty={
					<Empty title="No apps yet">
						When members allow an app to access this organization, it is listed here.
					</Empty>
				}
				columns={columns}
				notFound={search && `No app or person has “${search}” in its name.`}
			/>
		</Section>
	);
}

/** The page of an organization's apps (docs/oauth.md#apps-of-an-organization). */
export default function Apps() {
	const { isAdmin } = useOrganization();
	if (!isAdmin) return <AdminsOnly title="Apps" text="Your own apps are on the page Account." />;
	return (
		<PageView title="Apps" lead="What members have allowed apps and assistants to do for them.">
			<OfMembers />
			<RegisteredApps />
			<AllowedApps />
		</PageView>
	);
}
