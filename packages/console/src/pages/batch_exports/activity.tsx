import { ObjectActivity } from "../events/object_activity.tsx";
import type { Opened } from "./states.tsx";

/** What people have done with an export. */
export default function Activity({ of }: Opened) {
	return <ObjectActivity scope="BatchExport" id={of.id} />;
}
