import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Closes a menu that a button opens: by Escape, which gives the focus back to the button, when a link in
 * it is followed, and when the focus goes, or a click is made, outside of `root`.
 * @param root contains the button and the menu
 */
export function useDismiss(
	root: RefObject<HTMLElement | null>,
	isOpen: boolean,
	close: () => void,
) {
	// Not a later effect: a click may follow at once.
	useLayoutEffect(() => {
		const element = root.current;
		if (!isOpen || !element) return;
		const controller = new AbortController();
		const { signal } = controller;
		const isOutside = (target: EventTarget | null) =>
			target instanceof Node && !element.contains(target);
		element.addEventListener(
			"keydown",
			(event) => {
				if (event.key !== "Escape") return;
				// Closes this menu only, not one around it.
				event.stopPropagation();
				element.querySelector<HTMLElement>("[aria-expanded=true]")?.focus();
				close();
			},
			{ signal },
		);
		element.addEventListener(
			"click",
			({ target }) => {
				// Also the link to the page that is open.
				if (target instanceof Element && target.closest("a")) close();
			},
			{ signal },
		);
		element.addEventListener(
			"focusout",
			({ relatedTarget }) => {
				if (isOutside(relatedTarget)) close();
			},
			{ signal },
		);
		document.addEventListener(
			"pointerdown",
			({ target }) => {
				if (isOutside(target)) close();
			},
			{ signal },
		);
		return () => controller.abort();
	}, [isOpen]);
}
