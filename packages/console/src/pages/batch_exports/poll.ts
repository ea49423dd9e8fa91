import { useEffect, useRef } from "preact/hooks";

/** How often what is under way is asked for, in milliseconds. */
export const BUSY_MS = 3000;

/** How often a page looks whether something has begun. */
export const IDLE_MS = 15_000;

/** Calls `work` again and again while `isOn`, and while the tab is visible. */
export function usePolling(work: () => unknown, isOn: boolean, everyMs = BUSY_MS) {
	const latest = useRef(work);
	latest.current = work;
	useEffect(() => {
		if (!isOn) return;
		const poll = () => {
			if (document.visibilityState === "visible") latest.current();
		};
		const timer = setInterval(poll, everyMs);
		document.addEventListener("visibilitychange", poll);
		return () => {
			clearInterval(timer);
			document.removeEventListener("visibilitychange", poll);
		};
	}, [isOn, everyMs]);
}
