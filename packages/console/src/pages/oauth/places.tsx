import { useState } from "preact/hooks";
import type { Me } from "tenantry-client";
import { MAX_ROWS, useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { Check, Group, Select } from "../../ui/form.tsx";

function Projects({ organization }: { organization: string }) {
	const projects = useLoad(
		(signal) => api.organizationProjects.list({ organization, limit: MAX_ROWS }, { signal }),
		[organization],
	);
	return (
		<Show of={projects}>
			{({ results }) => (
				<div class="key-picks">
					{results.map(({ id, name }) => (
						<Check key={id} name="project" value={String(id)} label={name} />
					))}
				</div>
			)}
		</Show>
	);
}

/** The choice of an organization and its projects: the fields `organization` and `project`. */
export function Places({
	organizations,
	first,
}: {
	organizations: Me["organizations"];
	/** The id of the organization that is chosen at first. */
	first: string | undefined;
}) {
	const [organization, setOrganization] = useState(first ?? "");
	return (
		<>
			<Select
				name="organization"
				label="Where"
				defaultValue={organization}
				onChange={({ currentTarget }) => setOrganization(currentTarget.value)}
				options={[
					...organizations.map(({ id, name }) => [id, name] as const),
					["", "In all organizations, also those that you join later"],
				]}
			/>
			{organization !== "" && (
				<Group
					name="scoped_projects"
					label="Only in these projects"
					hint="If you select none, the app can access the whole organization. If you select some, it can't access members, webhooks and other objects of the organization."
				>
					<Projects key={organization} organization={organization} />
				</Group>
			)}
		</>
	);
}
