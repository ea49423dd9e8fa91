import { mayDiscard } from "./ui/dialog.tsx";
import { forgetUnsaved, hasUnsaved } from "./ui/unsaved.ts";

/**
 * Whether a URL is of another page. Filters and offsets change only the query string, so the forms
 * stay.
 */
const isOtherPage = (url: string) => new URL(url).pathname !== location.pathname;

/** Returns the link of a click, if it opens a page of the console in this tab. */
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

/** Leaves the page if the user confirms, unless another page was opened in the meantime. */
async function leave(go: () => void) {
	const { pathname } = location;
	if (!(await mayDiscard()) || location.pathname !== pathname) return;
	forgetUnsaved();
	go();
}

/**
 * Opens a page by its path. Asks for confirmation before unsaved changes are lost.
 * @param route opens a page
 */
export function openPage(path: string, route: (path: string) => void) {
	if (isOtherPage(new URL(path, location.href).href)) leave(() => route(path));
	else route(path);
}

/**
 * Asks for confirmation before the user leaves a page with unsaved changes by a link, by Back and
 * Forward, or by closing the tab. Returns a function that stops this.
 * @param route opens a page
 */
export function guardForms(route: (url: string) => void) {
	const controller = new AbortController();
	const { signal } = controller;
	addEventListener("beforeunload", (event) => hasUnsaved() && event.preventDefault(), { signal });
	// This listener runs first, because the router listens on the window.
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
	// Without the Navigation API, Back and Forward leave the page without confirmation.
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
