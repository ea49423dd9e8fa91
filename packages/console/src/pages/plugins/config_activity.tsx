import { api } from "../../session.ts";
import { Activity } from "./activity.tsx";
import { ConfigView, useConfig, useIds } from "./config_view.tsx";

export default function ConfigActivity() {
	const { project, id } = useIds();
	return (
		<ConfigView of={useConfig()} tab="/activity">
			{() => (
				<Activity
					id={id}
					activities={["created", "updated", "job_triggered"]}
					load={(page, signal) =>
						api.projectActivityLog.list(
							{ project: Number(project), scope: "PluginConfig", item_id: id, ...page },
							{ signal },
						)
					}
				/>
			)}
		</ConfigView>
	);
}
