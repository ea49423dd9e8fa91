import type { CreateInviteBody } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { Select, text } from "../../ui/form.tsx";

/** Returns the private projects that the user can see. */
export function usePrivateProjects() {
	const { organization } = useOrganization();
	return organization.teams.filter(({ access_control }) => access_control);
}

export function ProjectAccess() {
	const { isAdmin } = useOrganization();
	const projects = usePrivateProjects();
	if (projects.length === 0) return null;
	return (
		<fieldset class="project-access">
			<legend>Private projects</legend>
			<small class="hint">
				Members can access a private project only if they are added. Admins can access all projects.
				{!isAdmin && " You can't grant a higher level than your own in the project."}
			</small>
			{projects.map(({ id, name }) => (
				<Select
					key={id}
					name={`project_${id}`}
					label={name}
					options={[
						["", "No access"],
						["1", "Member"],
						["8", "Admin"],
					]}
				/>
			))}
		</fieldset>
	);
}

/** Returns the values of `ProjectAccess`. */
export function accessIn(
	fields: FormData,
): NonNullable<CreateInviteBody["private_project_access"]> {
	return [...fields.keys()].flatMap((name) => {
		const id = /^project_(\d+)$/.exec(name)?.[1];
		const level = text(fields, name);
		if (id === undefined || level === "") return [];
		return [{ id: Number(id), level: level === "8" ? 8 : 1 }];
	});
}
