import { useOrganization } from "../../organization.tsx";
import type { Resource } from "../../ui/access_words.ts";

/** A link to who can see an object, for those who may know. */
export function WhoCanSee({ resource, id }: { resource: Resource; id: string | number }) {
	const { seesMembers, to } = useOrganization();
	return seesMembers ? <a href={to(`access/${resource}/${id}`)}>Who can see this?</a> : null;
}
