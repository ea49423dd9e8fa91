import { useRoute } from "preact-iso/router";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Activity } from "./activity.tsx";
import { PluginView, usePlugin } from "./plugin_view.tsx";

export default function PluginActivity() {
	const { at } = useOrganization();
	const { plugin: id = "" } = useRoute().params;
	const loaded = usePlugin();
	return (
		<PluginView of={loaded} tab="/activity">
			{() => (
				<Activity
					id={id}
					activities={["created", "updated", "upgraded", "source_updated"]}
					load={(page, signal) =>
						api.activityLog.list({ ...at, scope: "Plugin", item_id: id, ...page }, { signal })
					}
				/>
			)}
		</PluginView>
	);
}
