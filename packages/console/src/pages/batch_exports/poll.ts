import { useEffect, useRef } from "preact/hooks";

/** The interval while something is running. */
export const BUSY_MS = 3000;

/** The interval while nothing is running. */
export const IDLE_MS = 15_000;

/** Calls `work` at this interval while `isOn` is true and the tab is visible, and when the tab becomes visible. */
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
