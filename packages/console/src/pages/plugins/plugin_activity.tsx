import { useRoute } from "preact-iso/router";
import { ObjectActivity } from "../events/object_activity.tsx";
import { PluginView, usePlugin } from "./plugin_view.tsx";

export default function PluginActivity() {
	const { plugin: id = "" } = useRoute().params;
	return (
		<PluginView of={usePlugin()} tab="/activity">
			{() => <ObjectActivity scope="Plugin" id={id} />}
		</PluginView>
	);
}
