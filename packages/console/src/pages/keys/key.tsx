import { useRoute } from "preact-iso/router";
import { KeyView } from "./key_view.tsx";
import { ownKeys } from "./keys.ts";

export default function Key() {
	const { key = "" } = useRoute().params;
	return <KeyView key={key} keys={ownKeys} id={key} />;
}
