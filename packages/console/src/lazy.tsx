import type { ComponentType } from "preact";
import lazyModule from "preact-iso/lazy";
import { Problem } from "./ui/feedback.tsx";
import { PageView } from "./ui/page.tsx";

/**
 * Whether the service has a newer console than this tab. The files of this tab's console may then
 * be deleted.
 */
async function isOutdated() {
	const script = document.querySelector("script[src]")?.getAttribute("src") ?? "";
	const page = await fetch("/console", { cache: "no-store" });
	return page.ok && !(await page.text()).includes(script);
}

const Missing = () => (
	<PageView title="Can't load this page">
		<Problem
			error="Check your connection, then try again. Saved changes aren't lost."
			retry={() => location.reload()}
		/>
	</PageView>
);

/**
 * Reloads the tab if its console is outdated. This can't loop, because the tab then has the newest
 * console.
 */
async function recover() {
	if (await isOutdated().catch(() => false)) location.reload();
	return { default: Missing };
}

/** Returns a page that is loaded when it is first opened. */
export const lazy = <P = object>(load: () => Promise<{ default: ComponentType<P> }>) =>
	lazyModule<ComponentType<P>>(() => load().catch(recover));
