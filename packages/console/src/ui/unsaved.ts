/** Forms with unsaved changes. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The original values of each changed form. */
const before = new Map<HTMLFormElement, string>();

/** Functions that are called when a form is saved or removed. */
const watchers = new Set<() => void>();

/** Returns the values of a form as text to compare. Empty fields count as missing. */
const valuesOf = (form: HTMLFormElement) =>
	JSON.stringify([...new FormData(form)].filter(([, value]) => value !== ""));

/** Whether a form within this part of the page has unsaved changes. */
export const hasUnsaved = (within: Node = document) =>
	[...before].some(([form, values]) => within.contains(form) && valuesOf(form) !== values);

/** Forgets all changes after the user discarded them. */
export const forgetUnsaved = () => before.clear();

function forget(form: HTMLFormElement) {
	before.delete(form);
	for (const watcher of watchers) watcher();
}

/** Calls a function when a form is saved or removed. Returns a function that stops this. */
export function watchForms(watcher: () => void) {
	watchers.add(watcher);
	return () => void watchers.delete(watcher);
}

/**
 * Tracks changes of a form.
 * @returns a function to call when the values are sent. It returns a function to call when they are
 * saved, which returns whether the form has no newer changes
 */
export function useUnsaved(ref: RefObject<HTMLFormElement | null>, isWatched: boolean) {
	/** The values before the first change. Some are loaded after the form appears. */
	const values = useRef("");
	/** Whether the form has changed since its values were last sent. */
	const isChanged = useRef(false);
	function takeValues() {
		if (ref.current && !before.has(ref.current)) values.current = valuesOf(ref.current);
	}
	useLayoutEffect(takeValues);
	useLayoutEffect(() => {
		const form = ref.current;
		if (!form || !isWatched) return;
		function change({ type, target }: Event) {
			if (!form || !(target instanceof Element)) return;
			// Buttons can change values, except submit buttons. Search fields don't count as changes.
			const isChange =
				type === "click"
					? target.closest("button:not([type=submit])")
					: !target.matches("[type=search]");
			if (!isChange) return;
			isChanged.current = true;
			if (!before.has(form)) before.set(form, values.current);
		}
		// Parts of the form may have loaded values after it was rendered.
		for (const type of ["focusin", "pointerdown", "keydown"])
			form.addEventListener(type, takeValues, true);
		// Capture runs before the field's own listeners, which may render the form again.
		for (const type of ["input", "click"]) form.addEventListener(type, change, true);
		// The listeners are removed with the form.
		return () => forget(form);
	}, []);
	return () => {
		const sent = ref.current && valuesOf(ref.current);
		isChanged.current = false;
		return () => {
			const form = ref.current;
			if (!form || sent === null) return false;
			// Values that were entered during the request aren't saved.
			const isSaved = !isChanged.current || valuesOf(form) === sent;
			if (isSaved) forget(form);
			else before.set(form, sent);
			return isSaved;
		};
	};
}
