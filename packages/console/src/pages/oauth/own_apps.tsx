import type { OauthGrant } from "tenantry-client";
import { listOf, useLoad } from "../../load.ts";
import { api, me } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { buttons, Table } from "../../ui/table.tsx";
import { app, permissions, times } from "./grants.tsx";

const ME = { user: "@me" } as const;

/** Returns where the app has access, such as "In Acme, 2 projects". */
function whereOf({ scoped_organizations, scoped_projects }: OauthGrant) {
	const names = scoped_organizations.map(
		(id) => me.value?.organizations.find((each) => each.id === id)?.name ?? "another organization",
	);
	const count = scoped_projects.length;
	const projects = count > 0 ? [count === 1 ? "one project" : `${count} projects`] : [];
	return `In ${[...names, ...projects].join(", ") || "all organizations"}`;
}

/** The apps that the user has given access (docs/oauth.md#your-apps). */
export function OwnApps() {
	const loaded = useLoad((signal) => api.oauthGrants.list(ME, { signal }), []);
	async function end({ id, client_name }: OauthGrant) {
		const isSure = await confirm({
			title: `End the access of “${client_name}”?`,
			text: "The app can no longer do anything for you. You can allow it again.",
			action: "End access",
		});
		if (!isSure) return;
		await api.oauthGrants.revoke({ ...ME, id });
		say(`The access of “${client_name}” is ended.`);
		await loaded.reload();
	}
	return (
		<Section title="Apps">
			<Show of={loaded}>
				{({ results }) => (
					<Table
						list={listOf([...results])}
						label="Apps"
						empty={<p class="quiet">None. Apps and assistants that you allow are listed here.</p>}
						columns={[
							app(),
							permissions(whereOf),
							...times<OauthGrant>(),
							buttons<OauthGrant>((grant) => (
								<SmallButton
									aria-label={`End access of ${grant.client_name}`}
									onPress={() => end(grant)}
								>
									End access
								</SmallButton>
							)),
						]}
					/>
				)}
			</Show>
		</Section>
	);
}
