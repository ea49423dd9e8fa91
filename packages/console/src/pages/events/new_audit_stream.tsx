import { useState } from "preact/hooks";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Choice, Field, Form, Group, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { AdminsOnly } from "./admins_only.tsx";
import { BucketFields, destinationOf } from "./stream.tsx";

export default function NewAuditStream() {
	const { at, isAdmin, to } = useOrganization();
	const navigate = useNavigate();
	const [type, setType] = useState<"S3" | "R2">("S3");
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
					const { id } = await api.auditStreams.create(at, {
						name: text(fields, "name"),
						destination: destinationOf(type, fields),
						from: text(fields, "from") === "now" ? "now" : "start",
					});
					navigate(to(`audit_streams/${id}`), true);
				}}
			>
				<Field name="name" label="Name" required maxLength={400} placeholder="Archive" />
				<Group label="Storage">
					<Choice
						name="destination__type"
						value="S3"
						label="S3, or compatible storage"
						checked={type === "S3"}
						onChange={() => setType("S3")}
					/>
					<Choice
						name="destination__type"
						value="R2"
						label="R2"
						hint="The bucket of the service. It requires no access key."
						checked={type === "R2"}
						onChange={() => setType("R2")}
					/>
				</Group>
				<BucketFields key={type} type={type} />
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
