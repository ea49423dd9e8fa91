import { useLoad } from "../../load.ts";
import { Empty } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";
import { KeyList } from "./key_list.tsx";
import { getCurrentKey, ownKeys } from "./keys.ts";

/** The keys of the signed-in user. */
export default function OwnKeys() {
	const current = useLoad((signal) => getCurrentKey({ signal }), []);
	return (
		<PageView
			title="API keys"
			lead="Keys act for you: in scripts, on the command line, and in this console. Programs that others depend on should have a service account."
			actions={
				<a class="button" href={ownKeys.to("new")}>
					New key
				</a>
			}
		>
			<KeyList
				keys={ownKeys}
				currentId={current.data?.id}
				empty={<Empty title="You have no keys" />}
			/>
		</PageView>
	);
}
