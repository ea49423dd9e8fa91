/** What may be replaced while it has the focus. A link leads to a page, which takes the focus by itself. */
const CONTROLS = "button, input, select, textarea";

/** What tells the controls of a page apart. */
const nameOf = (element: Element) =>
	element.getAttribute("name") ?? element.getAttribute("aria-label") ?? element.textContent;

/** The one of several controls that is nearest to a place. */
function nearest(controls: HTMLElement[], place: Node) {
	for (let around: Node | null = place; around; around = around.parentNode) {
		const within = around;
		const found = controls.find((control) => within.contains(control));
		if (found) return found;
	}
	return undefined;
}

/**
 * Gives the focus back after a change has removed the control that had it, such as the button of a form that was saved,
 * or of a row that is gone: to the nearest one of its name, or to what took its place. If there is neither, a dialog's
 * buttons or the page's title get it.
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
	new MutationObserver((records) => {
		if (!last || last.isConnected) return;
		const [lost, { activeElement }] = [last, document];
		last = undefined;
		if (activeElement && activeElement !== document.body) return;
		const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
		const root = dialog ?? document.querySelector("main");
		if (!root) return;
		const place = records.find(({ removedNodes }) =>
			[...removedNodes].some((node) => node.contains(lost)),
		)?.target;
		const added = records
			.filter(({ target }) => target === place)
			.flatMap(({ addedNodes }) => [...addedNodes]);
		const isAdded = (element: Element) => added.some((node) => node.contains(element));
		const controls = [...root.querySelectorAll<HTMLElement>(CONTROLS)];
		const title = root.querySelector("h1");
		const same = controls.filter(
			(control) => control.localName === lost.localName && nameOf(control) === nameOf(lost),
		);
		const next =
			nearest(same, place ?? root) ??
			dialog?.querySelector<HTMLElement>(".buttons > button") ??
			// Another page begins with its title.
			(title && isAdded(title) ? undefined : controls.find(isAdded));
		if (next) next.focus();
		else title?.focus({ preventScroll: true });
	}).observe(document.body, { childList: true, subtree: true });
}
