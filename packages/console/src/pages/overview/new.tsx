import { useNavigate } from "../../load.ts";
import { pathIn } from "../../organization.tsx";
import { api, reloadMe } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";

/** Makes an organization, and goes to it. */
export default function NewOrganization() {
	const navigate = useNavigate();
	async function create(fields: FormData) {
		const { id } = await api.organizations.create({ name: text(fields, "name") });
		await reloadMe();
		navigate(pathIn(id));
	}
	return (
		<PageView
			title="New organization"
			lead="An organization has members, projects and exports of its own. You become its owner, and it begins with one project."
		>
			<Form action="Create organization" onSubmit={create}>
				<Field
					name="name"
					label="Name"
					required
					maxLength={64}
					hint="What people call it. You can change it later."
				/>
			</Form>
		</PageView>
	);
}
