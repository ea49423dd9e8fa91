import type { OrganizationOauthGrant } from "tenantry-client";
import { useList } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { buttons, Table } from "../../ui/table.tsx";
import { nameOf } from "../../ui/values.tsx";
import { AdminsOnly } from "../events/admins_only.tsx";
import { AllowedApps } from "./allowed_apps.tsx";
import { app, permissions, times } from "./grants.tsx";
import { RegisteredApps } from "./registered_apps.tsx";

/** The apps that members have given access to the organization. */
function OfMembers() {
	const { at, organization } = useOrganization();
	const list = useList(
		(page, signal) => api.organizationOauthGrants.list({ ...at, ...page }, { signal }),
		[organization.id],
	);
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
	return (
		<Section title="Apps of members">
			<Table
				list={list}
				label="Apps of members"
				empty={
					<Empty title="No apps yet">
						When members allow an app to access this organization, it is listed here.
					</Empty>
				}
				columns={[
					app(),
					{
						title: "Person",
						cell: ({ user }) => (
							<>
								{nameOf(user)}
								<small class="below">{user.email}</small>
							</>
						),
					},
					permissions(),
					...times<OrganizationOauthGrant>(),
					buttons<OrganizationOauthGrant>((grant) => (
						<SmallButton
							aria-label={`End access of ${grant.client_name} for ${nameOf(grant.user)}`}
							onPress={() => end(grant)}
						>
							End access
						</SmallButton>
					)),
				]}
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
