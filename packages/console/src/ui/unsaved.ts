/** Forms that somebody has changed and not sent. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** What each form had before it was changed. */
const before = new Map<HTMLFormElement, string>();

/** What is called when a form is saved or removed. */
const watchers = new Set<() => void>();

/** The values of a form's fields, as a text to compare. An empty field is as one that isn't there. */
const valuesOf = (form: HTMLFormElement) =>
	JSON.stringify([...new FormData(form)].filter(([, value]) => value !== ""));

/** Whether a form within this part of the page has other values than before. */
export const hasUnsaved = (within: Node = document) =>
	[...before].some(([form, values]) => within.contains(form) && valuesOf(form) !== values);

/** Whoever made the changes gives them up. */
export const forgetUnsaved = () => before.clear();

function forget(form: HTMLFormElement) {
	before.delete(form);
	for (const watcher of watchers) watcher();
}

/** Calls this whenever a form is saved or removed. Returns what ends it. */
export function watchForms(watcher: () => void) {
	watchers.add(watcher);
	return () => void watchers.delete(watcher);
}

/**
 * Notices when somebody changes the form.
 * @returns what is called when the form's values are sent; it returns what is called when these are saved,
 * which answers whether nothing was entered meanwhile
 */
export function useUnsaved(ref: RefObject<HTMLFormElement | null>, isWatched: boolean) {
	/** The values while nobody has changed any. Some are loaded after the form appears. */
	const values = useRef("");
	/** Whether somebody has changed the form since its values were last sent. */
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
			// Buttons change values, too, except those that send them. A search in the form doesn't.
			const isChange =
				type === "click"
					? target.closest("button:not([type=submit])")
					: !target.matches("[type=search]");
			if (!isChange) return;
			isChanged.current = true;
			if (!before.has(form)) before.set(form, values.current);
		}
		// Parts of the form that load by themselves have changed its values since it was rendered.
		for (const type of ["focusin", "pointerdown", "keydown"])
			form.addEventListener(type, takeValues, true);
		// Before the field's own listeners, which may render the form again.
		for (const type of ["input", "click"]) form.addEventListener(type, change, true);
		// The form goes too, and its listeners with it.
		return () => forget(form);
	}, []);
	return () => {
		const sent = ref.current && valuesOf(ref.current);
		isChanged.current = false;
		return () => {
			const form = ref.current;
			if (!form || sent === null) return false;
			// What is entered while the values are being saved isn't saved.
			const isSaved = !isChanged.current || valuesOf(form) === sent;
			if (isSaved) forget(form);
			else before.set(form, sent);
			return isSaved;
		};
	};
}
