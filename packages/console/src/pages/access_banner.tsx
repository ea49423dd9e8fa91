import type { MemberAccess } from "tenantry-client";

/** What access controls are about, in words. */
const WORDS: Record<MemberAccess["resource"], string> = {
	project: "projects",
	batch_export: "exports",
	plugin: "plugins",
	webhook: "webhooks",
	domain: "domains",
	organization_member: "members",
	activity_log: "the activity log and what is sent from it",
};

/** Says why the user has this access, after "because". */
function reasonOf({ decided_by, access_controls }: MemberAccess) {
	const deciding = access_controls.find(({ decides }) => decides);
	if (decided_by === "auditor") return "you have the role Auditor";
	if (decided_by === "project") return "you may only view its project";
	if (deciding?.given_to === "role") return `your role ${deciding.role ?? ""} says so`;
	if (deciding?.given_to === "member") return "an admin has given you only this access";
	return "everyone in this organization has this access";
}

/** Says why the page has no buttons that change something. */
export default function AccessBanner({ access }: { access: MemberAccess | undefined }) {
	return (
		<p class="banner" role="note">
			{access ? (
				<>
					You may only view {access.resource_id ? "this" : WORDS[access.resource]}, because{" "}
					{reasonOf(access)}. An admin can change it.
				</>
			) : (
				<>You can only look at this: the key that you signed in with may not change it.</>
			)}
		</p>
	);
}
