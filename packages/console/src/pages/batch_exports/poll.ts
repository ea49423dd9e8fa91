import { useEffect, useRef } from "preact/hooks";

/** How often what is under way is asked for, in milliseconds. */
const POLL_MS = 3000;

/** Calls `work` every few seconds while `isOn`, and while the tab is visible. */
export function usePolling(work: () => unknown, isOn: boolean) {
	const latest = useRef(work);
	latest.current = work;
	useEffect(() => {
		if (!isOn) return;
		const poll = () => {
			if (document.visibilityState === "visible") latest.current();
		};
		const timer = setInterval(poll, POLL_MS);
		document.addEventListener("visibilitychange", poll);
		return () => {
			clearInterval(timer);
			document.removeEventListener("visibilitychange", poll);
		};
	}, [isOn]);
}
