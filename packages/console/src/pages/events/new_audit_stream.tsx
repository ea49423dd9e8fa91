import { useState } from "preact/hooks";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Choice, Field, Form, Group, Select, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { SettingFields } from "../../ui/setting_fields.tsx";
import { besideSettings } from "../../ui/settings.ts";
import { AdminsOnly } from "./admins_only.tsx";
import { settingsOf, TYPES } from "./sinks.ts";
import { destinationOf } from "./stream.tsx";

export default function NewAuditStream() {
	const { at, isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	const [type, setType] = useState<string>(TYPES[0]?.[0] ?? "");
	if (!isAdmin)
		return (
			<AdminsOnly title="Audit streams" text="Audit streams contain events of all projects." />
		);
	return (
		<PageView title="Add audit stream" above={[[to("audit_streams"), "Audit streams"]]}>
			<Form
				action="Add audit stream"
				onCancel={() => navigate(to("audit_streams"))}
				onSubmit={async (fields) => {
					const { id } = await besideSettings(settingsOf(type), () =>
						api.auditStreams.create(at, {
							name: text(fields, "name"),
							destination: destinationOf(type, fields),
							from: text(fields, "from") === "now" ? "now" : "start",
						}),
					);
					navigate(to(`audit_streams/${id}`), true);
				}}
			>
				<Field name="name" label="Name" required maxLength={400} placeholder="Archive" />
				<Select
					name="destination__type"
					label="Destination"
					options={TYPES}
					defaultValue={type}
					onChange={({ currentTarget }) => setType(currentTarget.value)}
				/>
				<SettingFields key={type} type={type} settings={settingsOf(type)} />
				<Group label="Start from">
					<Choice
						name="from"
						value="start"
						label="The oldest entry"
						hint="Up to 365 days of entries are written first."
						defaultChecked
					/>
					<Choice name="from" value="now" label="Now" />
				</Group>
			</Form>
		</PageView>
	);
}
