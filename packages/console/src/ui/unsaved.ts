/** Forms that somebody has changed and not sent. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** What each form had before it was changed. */
const before = new Map<HTMLFormElement, string>();

/** The values of a form's fields, as a text to compare. An empty field is as one that isn't there. */
const valuesOf = (form: HTMLFormElement) =>
	JSON.stringify([...new FormData(form)].filter(([, value]) => value !== ""));

/** Whether a form within this part of the page has other values than before. */
export const hasUnsaved = (within: Node = document) =>
	[...before].some(([form, values]) => within.contains(form) && valuesOf(form) !== values);

/** Whoever made these changes gives them up. */
export function forgetUnsaved(within: Node = document) {
	for (const form of before.keys()) if (within.contains(form)) before.delete(form);
}

/** Notices when somebody changes the form. Returns what is called when its values are saved. */
export function useUnsaved(ref: RefObject<HTMLFormElement | null>) {
	/** The values while nobody has changed any. Some are loaded after the form appears. */
	const values = useRef("");
	useLayoutEffect(() => {
		if (ref.current && !before.has(ref.current)) values.current = valuesOf(ref.current);
	});
	useLayoutEffect(() => {
		const form = ref.current;
		if (!form) return;
		function change({ type, target }: Event) {
			if (!form || before.has(form) || !(target instanceof Element)) return;
			// Buttons change values, too. A search in the form doesn't.
			if (type === "click" ? target.closest("button") : !target.matches("[type=search]"))
				before.set(form, values.current);
		}
		form.addEventListener("input", change);
		form.addEventListener("click", change);
		// The form goes too, and its listeners with it.
		return () => void before.delete(form);
	}, []);
	return () => {
		if (ref.current) before.delete(ref.current);
	};
}
