import type { ComponentType } from "preact";
import lazyModule from "preact-iso/lazy";
import { Problem } from "./ui/feedback.tsx";
import { PageView } from "./ui/page.tsx";

/** Whether the service has a newer console than this tab: then files that this one still has to load may be gone. */
async function isOutdated() {
	const script = document.querySelector("script[src]")?.getAttribute("src") ?? "";
	const page = await fetch("/console", { cache: "no-store" });
	return page.ok && !(await page.text()).includes(script);
}

const Missing = () => (
	<PageView title="This page couldn't be loaded">
		<Problem
			error="Check your connection, and try again. Nothing that you saved is lost."
			retry={() => location.reload()}
		/>
	</PageView>
);

/** Gets the newest console, where this tab's is outdated. It can't happen twice: then it has the newest. */
async function recover() {
	if (await isOutdated().catch(() => false)) location.reload();
	return { default: Missing };
}

/** A page that is loaded when it is first opened. */
export const lazy = (load: () => Promise<{ default: ComponentType }>) =>
	lazyModule<ComponentType>(() => load().catch(recover));
