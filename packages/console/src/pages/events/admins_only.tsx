import { Empty } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";

/** What members get to see instead of a page for admins. */
export const AdminsOnly = ({ title, text }: { title: string; text: string }) => (
	<PageView title={title}>
		<Empty title="Only admins can see this">
			<p>{text} Ask an admin of your organization if you need something here.</p>
		</Empty>
	</PageView>
);
