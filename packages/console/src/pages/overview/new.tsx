import { useNavigate } from "../../load.ts";
import { pathIn } from "../../organization.tsx";
import { api, reloadMe } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";

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
			lead="An organization has its own members, projects and exports. You become its owner, and it starts with one project."
		>
			<Form action="Create organization" onSubmit={create}>
				<Field name="name" label="Name" required maxLength={64} hint="You can change it later." />
			</Form>
		</PageView>
	);
}
