import { ObjectActivity } from "../events/object_activity.tsx";
import { ConfigView, useConfig, useIds } from "./config_view.tsx";

export default function ConfigActivity() {
	const { id } = useIds();
	return (
		<ConfigView of={useConfig()} tab="/activity">
			{() => <ObjectActivity scope="PluginConfig" id={id} />}
		</ConfigView>
	);
}
