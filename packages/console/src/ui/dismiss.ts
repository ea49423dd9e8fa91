import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Closes a menu: on Escape, which moves the focus back to the button, on a click on a link in the
 * menu, and when the user clicks or moves the focus outside of `root`.
 * @param root contains the button and the menu
 */
export function useDismiss(
	root: RefObject<HTMLElement | null>,
	isOpen: boolean,
	close: () => void,
) {
	// A layout effect, because a click can follow immediately.
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
				// Don't close a menu around this one.
				event.stopPropagation();
				element.querySelector<HTMLElement>("[aria-expanded=true]")?.focus();
				close();
			},
			{ signal },
		);
		element.addEventListener(
			"click",
			({ target }) => {
				// This includes the link to the current page.
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
