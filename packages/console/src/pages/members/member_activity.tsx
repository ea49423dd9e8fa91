import type { MemberDetails } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Filter } from "../../ui/filters.tsx";
import { Entries } from "../events/object_activity.tsx";

/** The entries of the log by a member, or about them. */
export default function MemberActivity({ details: { uuid, email } }: { details: MemberDetails }) {
	const { at } = useOrganization();
	const [{ about }] = useQuery();
	const of = about ? { name: email } : { user: uuid };
	return (
		<Entries
			scope=""
			of={JSON.stringify(of)}
			about="filter"
			load={(filters, signal) => api.activityLog.list({ ...at, ...filters, ...of }, { signal })}
		>
			<Filter
				name="about"
				label="Whose"
				options={[
					["", "What they did"],
					["them", "What was done to them"],
				]}
			/>
		</Entries>
	);
}
