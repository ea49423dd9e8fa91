import { useRoute } from "preact-iso/router";
import { EditKey } from "./edit_view.tsx";
import { ownKeys } from "./keys.ts";

export default function Edit() {
	const { key = "" } = useRoute().params;
	return <EditKey key={key} keys={ownKeys} id={key} />;
}
