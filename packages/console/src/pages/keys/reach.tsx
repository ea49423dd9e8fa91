import type { PersonalApiKey } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { Show } from "../../ui/feedback.tsx";
import { Check, Choice, Group } from "../../ui/form.tsx";
import type { Keys } from "./keys.ts";

/** What restricts a key. */
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
			{/* The form can be sent before the names are there. */}
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

/** Chooses what a key can reach. The form has the ids as `organization` and `project`. */
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
			label="Where it may do this"
		>
			{keys.organization === undefined
				? choice("none", "Everywhere you may", "Also in organizations that you join later.")
				: choice("none", "Everywhere in this organization that the account may")}
			{organizations.length > 0 && choice("organizations", "Only in some organizations")}
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
				"Only in some projects",
				"Then it can use nothing of organizations, such as members or webhooks.",
			)}
			{kind === "projects" && <Projects keys={keys} chosen={before?.scoped_projects ?? []} />}
		</Group>
	);
}
