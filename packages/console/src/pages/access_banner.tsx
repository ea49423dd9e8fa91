import type { MemberAccess } from "tenantry-client";
import { RESOURCES, reasonOf } from "../ui/access_words.ts";

/** Says why the page has no buttons that change something. */
export default function AccessBanner({ access }: { access: MemberAccess | undefined }) {
	if (!access)
		return (
			<p class="access-banner" role="note">
				You may only look at this: the key that you signed in with can't change it.
			</p>
		);
	const { words, one } = RESOURCES[access.resource];
	const reason = reasonOf(access);
	return (
		<p class="access-banner" role="note">
			You may only view {access.resource_id === null ? words.toLowerCase() : `this ${one}`}. Why:{" "}
			{reason.charAt(0).toLowerCase() + reason.slice(1)}. An admin can change it.
		</p>
	);
}
