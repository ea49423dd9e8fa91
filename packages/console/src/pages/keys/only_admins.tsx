import { Empty } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";

/** What service accounts are for. */
export const WHAT =
	"Create service accounts for programs, such as deployments, scripts and dashboards. They belong to the organization, and stay when the person who created them leaves.";

/** Replaces the pages of service accounts if the user is only a member. */
export const OnlyAdmins = () => (
	<PageView title="Service accounts" lead={WHAT}>
		<Empty title="Only admins can see this">
			If your program needs a service account, ask an admin of your organization.
		</Empty>
	</PageView>
);
