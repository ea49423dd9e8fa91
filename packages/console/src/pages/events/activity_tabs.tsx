import { useOrganization } from "../../organization.tsx";
import { Tabs } from "../../ui/page.tsx";

export function ActivityTabs({ current }: { current: "activity" | "activity/events" }) {
	const { to } = useOrganization();
	return (
		<Tabs
			label="Activity"
			current={to(current)}
			tabs={[
				[to("activity"), "Activity log"],
				[to("activity/events"), "All events"],
			]}
		/>
	);
}
