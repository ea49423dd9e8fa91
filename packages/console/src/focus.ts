/** What may be replaced while it has the focus. A link leads to a page, which takes the focus by itself. */
const CONTROLS = "button, input, select, textarea";

/** What tells the controls of a page apart. */
const nameOf = (element: Element) =>
	element.getAttribute("name") ?? element.getAttribute("aria-label") ?? element.textContent;

/**
 * Gives the focus back after a change of the page has removed the control that had it, such as the button of a form
 * that was saved, or of a row that is gone: to the control that took its place, or else to the page's title.
 */
export function keepFocus() {
	let last: Element | undefined;
	addEventListener("focusin", ({ target }) => {
		last = target instanceof Element && target.matches(CONTROLS) ? target : undefined;
	});
	// Who clicks elsewhere goes on from there.
	addEventListener("pointerdown", () => {
		last = undefined;
	});
	new MutationObserver(() => {
		if (!last || last.isConnected) return;
		const [lost, { activeElement }] = [last, document];
		last = undefined;
		if (activeElement && activeElement !== document.body) return;
		const main = document.querySelector("main");
		const same = [...(main?.querySelectorAll<HTMLElement>(lost.localName) ?? [])].find(
			(control) => nameOf(control) === nameOf(lost),
		);
		(same ?? main?.querySelector("h1"))?.focus({ preventScroll: same === undefined });
	}).observe(document.body, { childList: true, subtree: true });
}
