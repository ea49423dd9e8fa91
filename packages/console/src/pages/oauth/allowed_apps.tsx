/** Which apps can access an organization (docs/oauth.md#apps-of-an-organization). */
import { useState } from "preact/hooks";
import type { UpdateOrganizationBody } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useSave } from "../../ui/conflict.tsx";
import { Area, Choice, Form, Group, text } from "../../ui/form.tsx";
import { linesOf } from "../../ui/lines.ts";
import { Section } from "../../ui/page.tsx";

export function AllowedApps() {
	const { organization, reloadOrganization } = useOrganization();
	const { allowed_apps } = organization;
	const [isListed, setListed] = useState(allowed_apps !== null);
	const { save, dialog, version } = useSave<typeof organization, UpdateOrganizationBody>({
		read: () => api.organizations.get({ id: organization.id }),
		update: api.organizations.update,
		labels: { allowed_apps: "Allowed apps" },
		onSaved: reloadOrganization,
	});
	return (
		<Section title="Allowed apps">
			<Form
				key={version}
				action="Save"
				showsSaved
				onSubmit={(fields) => {
					const isAll = text(fields, "which") === "all";
					const allowed_apps = isAll ? null : linesOf(text(fields, "allowed_apps"));
					return save(organization, { allowed_apps }, "The allowed apps are saved.");
				}}
			>
				<Group label="Which apps can access this organization, if a member allows it">
					<Choice
						name="which"
						value="all"
						label="All apps"
						defaultChecked={allowed_apps === null}
						onChange={() => setListed(false)}
					/>
					<Choice
						name="which"
						value="listed"
						label="Only these"
						defaultChecked={allowed_apps !== null}
						onChange={() => setListed(true)}
					/>
				</Group>
				{isListed && (
					<Area
						name="allowed_apps"
						label="Client IDs"
						spellcheck={false}
						defaultValue={allowed_apps?.join("\n") ?? ""}
						hint="One per line. Without any, no app can. The access of other apps stops at the next request."
					/>
				)}
			</Form>
			{dialog}
		</Section>
	);
}
