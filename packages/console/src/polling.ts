import { useEffect, useRef } from "preact/hooks";

/**
 * Calls a function at this interval while `isOn` is true and the tab is visible, and when the tab
 * becomes visible.
 */
export function usePolling(work: () => unknown, everyMs: number, isOn = true) {
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
