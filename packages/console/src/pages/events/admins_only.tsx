import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso/router";
import { type Reloading, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { LoadedPage, PageView } from "../../ui/page.tsx";

/** Replaces a page for admins if the user is only a member. */
export const AdminsOnly = ({ title, text }: { title: string; text: string }) => (
	<PageView title={title}>
		<Empty title="Only admins can see this">
			{text} If you need a change, ask an admin of your organization.
		</Empty>
	</PageView>
);

type One<T> = {
	/** Loads the object with `get` of the client. */
	get: (
		parameters: { organization: string; id: string },
		options: { signal: AbortSignal },
	) => PromiseLike<T>;
	/** The kind of the object, which is the title until it is loaded. */
	title: string;
	/** The list of these objects. */
	above: readonly [path: string, words: string];
	children: (object: T, loaded: Reloading<T>) => ComponentChildren;
};

function LoadedOne<T>({ get, title, above: [path, words], children }: One<T>) {
	const { at, organization, to } = useOrganization();
	const { id = "" } = useRoute().params;
	const loaded = useLoad((signal) => get({ ...at, id }, { signal }), [organization.id, id]);
	return (
		<LoadedPage of={loaded} title={title} above={[[to(path), words]]}>
			{(object) => children(object, loaded)}
		</LoadedPage>
	);
}

/** A page for admins about the object in the URL. Members see `title` and `text`. */
export function OneForAdmins<T>({ text, ...one }: One<T> & { text: string }) {
	const { isAdmin } = useOrganization();
	return isAdmin ? <LoadedOne {...one} /> : <AdminsOnly title={one.title} text={text} />;
}
