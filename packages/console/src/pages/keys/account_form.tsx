import { useState } from "preact/hooks";
import type { ServiceAccount } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { Check, Choice, Field, Form, Group, text, texts } from "../../ui/form.tsx";

/** The values of the form. */
export type AccountSettings = { name: string; level: 1 | 8; projects: number[] };

const LevelChoice = ({ level, onChange }: { level: 1 | 8; onChange: (level: 1 | 8) => void }) => (
	<Group name="level" label="Level">
		<Choice
			name="account_level"
			value="1"
			label="Member"
			hint="Has the permissions of a member."
			checked={level === 1}
			onChange={() => onChange(1)}
		/>
		<Choice
			name="account_level"
			value="8"
			label="Admin"
			hint="Also manages members, domains and settings, and sees all projects."
			checked={level === 8}
			onChange={() => onChange(8)}
		/>
	</Group>
);

export function AccountForm({
	before,
	action,
	onSubmit,
	onCancel,
}: {
	before?: ServiceAccount;
	action: string;
	onSubmit: (settings: AccountSettings) => Promise<unknown>;
	onCancel: () => void;
}) {
	const { organization } = useOrganization();
	const [level, setLevel] = useState<1 | 8>(before?.level ?? 1);
	const isPrivate = organization.teams.filter(({ access_control }) => access_control);
	return (
		<Form
			action={action}
			onCancel={onCancel}
			onSubmit={(fields) =>
				onSubmit({
					name: text(fields, "name"),
					level,
					// Admins can access all projects, so the list isn't shown.
					projects:
						level === 8
							? (before?.projects ?? [])
							: texts(fields, "project")
									.map(Number)
									.sort((a, b) => a - b),
				})
			}
		>
			<Field
				name="name"
				label="Name"
				required
				maxLength={64}
				defaultValue={before?.name}
				placeholder="Warehouse import"
				hint="The program that uses the account. The activity log shows this name."
			/>
			<LevelChoice level={level} onChange={setLevel} />
			{level === 1 && isPrivate.length > 0 && (
				<Group name="projects" label="Private projects" hint="It can access all other projects.">
					<div class="key-picks">
						{isPrivate.map(({ id, name }) => (
							<Check
								key={id}
								name="project"
								value={String(id)}
								label={name}
								defaultChecked={before?.projects.includes(id) ?? false}
							/>
						))}
					</div>
				</Group>
			)}
		</Form>
	);
}
