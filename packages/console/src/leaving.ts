import { mayDiscard } from "./ui/dialog.tsx";
import { forgetUnsaved, hasUnsaved } from "./ui/unsaved.ts";

/** Filters and places in lists change only the query of the URL. The page and its forms stay. */
const isOtherPage = (url: string) => new URL(url).pathname !== location.pathname;

/** The link that a click follows within the console, in this tab. */
function linkOf({ target, button, altKey, ctrlKey, metaKey, shiftKey }: MouseEvent) {
	if (button !== 0 || altKey || ctrlKey || metaKey || shiftKey) return undefined;
	const link = target instanceof Element ? target.closest("a") : null;
	return link instanceof HTMLAnchorElement &&
		link.origin === location.origin &&
		/^\/console(?:\/|$)/.test(link.pathname) &&
		!link.target &&
		!link.download
		? link
		: undefined;
}

/** Leaves the page if the user agrees, unless another one is open by then. */
async function leave(go: () => void) {
	const { pathname } = location;
	if (!(await mayDiscard()) || location.pathname !== pathname) return;
	forgetUnsaved();
	go();
}

/**
 * Asks before the page is left while a form has changes: by a link, by Back and Forward, and by closing the tab.
 * Returns what ends it.
 * @param route opens a page
 */
export function guardForms(route: (url: string) => void) {
	const controller = new AbortController();
	const { signal } = controller;
	addEventListener("beforeunload", (event) => hasUnsaved() && event.preventDefault(), { signal });
	// The router follows links when their clicks arrive at the window.
	document.addEventListener(
		"click",
		(event) => {
			const link = linkOf(event);
			if (!link || event.defaultPrevented || !isOtherPage(link.href) || !hasUnsaved()) return;
			event.preventDefault();
			event.stopPropagation();
			const url = link.href.slice(location.origin.length);
			leave(() => route(url));
		},
		{ signal },
	);
	// Not in browsers without the Navigation API: there, Back and Forward lead on at once.
	globalThis.navigation?.addEventListener(
		"navigate",
		(event) => {
			const { navigationType, cancelable, destination } = event;
			const { url, key } = destination;
			if (navigationType !== "traverse" || !cancelable || !isOtherPage(url) || !hasUnsaved())
				return;
			event.preventDefault();
			leave(() => navigation.traverseTo(key));
		},
		{ signal },
	);
	return () => controller.abort();
}
