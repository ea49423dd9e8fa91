import { useState } from "preact/hooks";
import type { Project } from "tenantry-client";
import { Check, Field, text } from "../../ui/form.tsx";

const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** The user's time zone, which is the default for a new project. */
const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the current time in a time zone; undefined if the time zone is unknown. */
function timeIn(timeZone: string) {
	try {
		return new Intl.DateTimeFormat(undefined, {
			timeZone,
			weekday: "long",
			hour: "numeric",
			minute: "numeric",
		}).format();
	} catch {
		return undefined;
	}
}

export function ProjectFields({
	project = { name: "", timezone: OWN_ZONE, access_control: false },
}: {
	project?: Pick<Project, "name" | "timezone" | "access_control">;
}) {
	const [zone, setZone] = useState(project.timezone);
	const now = timeIn(zone);
	return (
		<>
			<Field name="name" label="Name" defaultValue={project.name} required />
			<Field
				name="timezone"
				label="Time zone"
				list="time-zones"
				spellcheck={false}
				defaultValue={project.timezone}
				onInput={({ currentTarget }) => setZone(currentTarget.value)}
				hint={
					now ? `Current time: ${now}` : "Choose a time zone from the list, such as Europe/Berlin."
				}
			/>
			<datalist id="time-zones">
				{ZONES.map((zone) => (
					<option key={zone} value={zone} />
				))}
			</datalist>
			<Check
				name="access_control"
				label="Private"
				hint="Only admins of the organization and people added to the project can see it."
				defaultChecked={project.access_control}
			/>
		</>
	);
}

/** Returns the values of `ProjectFields`. */
export const valuesIn = (fields: FormData) => ({
	name: text(fields, "name"),
	timezone: text(fields, "timezone"),
	access_control: fields.has("access_control"),
});
