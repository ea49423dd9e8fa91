import type { PersonalApiKey } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { Show } from "../../ui/feedback.tsx";
import { Check, Choice, Group } from "../../ui/form.tsx";
import type { Keys } from "./keys.ts";

/** The kind of restriction. */
export type Kind = "none" | "organizations" | "projects";

type Restrictions = Pick<PersonalApiKey, "scoped_organizations" | "scoped_projects">;

export const kindOf = (key: Restrictions | undefined): Kind => {
	if (key && key.scoped_projects.length > 0) return "projects";
	return key && key.scoped_organizations.length > 0 ? "organizations" : "none";
};

function Projects({
	keys,
	chosen,
}: {
	keys: Pick<Keys<PersonalApiKey>, "projects" | "organizations">;
	chosen: readonly number[];
}) {
	const projects = useLoad((signal) => keys.projects({ signal }), []);
	const organizations = new Map(keys.organizations().map(({ id, name }) => [id, name]));
	return (
		<>
			{/* The form can be submitted before the names are loaded. */}
			{projects.data === undefined &&
				chosen.map((id) => <input key={id} type="hidden" name="project" value={id} />)}
			<Show of={projects}>
				{(projects) => (
					<div class="key-picks">
						{projects.map(({ id, name, organization }) => (
							<Check
								key={id}
								name="project"
								value={String(id)}
								label={
									organizations.size > 1
										? `${name} (${organizations.get(organization) ?? "–"})`
										: name
								}
								defaultChecked={chosen.includes(id)}
							/>
						))}
					</div>
				)}
			</Show>
		</>
	);
}

/** The choice of restrictions. The ids are the fields `organization` and `project` of the form. */
export function Reach({
	keys,
	before,
	kind,
	onChange,
}: {
	keys: Pick<Keys<PersonalApiKey>, "projects" | "organizations" | "organization">;
	before: Restrictions | undefined;
	kind: Kind;
	onChange: (kind: Kind) => void;
}) {
	const organizations = keys.organizations();
	const choice = (value: Kind, label: string, hint?: string) => (
		<Choice
			name="reach"
			value={value}
			label={label}
			hint={kind === value ? hint : undefined}
			checked={kind === value}
			onChange={() => onChange(value)}
		/>
	);
	return (
		<Group
			name={kind === "projects" ? "scoped_projects" : "scoped_organizations"}
			label="Access to"
		>
			{keys.organization === undefined
				? choice(
						"none",
						"Everything you can access",
						"Including organizations that you join later.",
					)
				: choice("none", "Everything the account can access")}
			{organizations.length > 0 && choice("organizations", "Selected organizations")}
			{kind === "organizations" && (
				<div class="key-picks">
					{organizations.map(({ id, name }) => (
						<Check
							key={id}
							name="organization"
							value={id}
							label={name}
							defaultChecked={before?.scoped_organizations.includes(id) ?? false}
						/>
					))}
				</div>
			)}
			{choice(
				"projects",
				"Selected projects",
				"The key then can't access objects of organizations, such as members and webhooks.",
			)}
			{kind === "projects" && <Projects keys={keys} chosen={before?.scoped_projects ?? []} />}
		</Group>
	);
}
