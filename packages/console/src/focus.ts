/**
 * Elements that may be replaced while they have the focus. Links aren't included, because a new
 * page sets the focus.
 */
const CONTROLS = "button, input, select, textarea";

/** Returns the name that identifies a control. */
const nameOf = (element: Element) =>
	element.getAttribute("name") ?? element.getAttribute("aria-label") ?? element.textContent;

/** Returns the button that opens the parent of an element, such as a closed menu. */
export function openerOf(element: Element) {
	for (let around: Element | null = element; around; around = around.parentElement) {
		const opener = document.querySelector<HTMLElement>(
			`[aria-controls="${CSS.escape(around.id)}"]`,
		);
		if (around.id && opener?.checkVisibility()) return opener;
	}
	return undefined;
}

function nearest(controls: HTMLElement[], place: Node) {
	for (let around: Node | null = place; around; around = around.parentNode) {
		const within = around;
		const found = controls.find((control) => within.contains(control));
		if (found) return found;
	}
	return undefined;
}

/**
 * Restores the focus after a change removed the focused control, such as the button of a saved form
 * or a deleted row. The focus moves to the nearest control with the same name (if it is in a closed
 * menu, to the button that opens it) or to a control that replaced it; otherwise to a button of the
 * dialog or the title of the page.
 */
export function keepFocus() {
	let last: Element | undefined;
	addEventListener("focusin", ({ target }) => {
		last = target instanceof Element && target.matches(CONTROLS) ? target : undefined;
	});
	// After a click elsewhere, the focus stays there.
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
		const near = nearest(same, place ?? root);
		const next =
			(near?.checkVisibility() ? near : near && openerOf(near)) ??
			dialog?.querySelector<HTMLElement>(".buttons > button") ??
			// On a new page, the title gets the focus.
			(title && isAdded(title) ? undefined : controls.find(isAdded));
		if (next) next.focus();
		else title?.focus({ preventScroll: true });
	}).observe(document.body, { childList: true, subtree: true });
}
