import { useEffect, useRef } from "preact/hooks";

/** Calls a function at this interval while the page is visible, and when it becomes visible. */
export function useEvery(seconds: number, work: () => unknown) {
	const latest = useRef(work);
	latest.current = work;
	useEffect(() => {
		const turn = () => {
			if (!document.hidden) latest.current();
		};
		const timer = setInterval(turn, seconds * 1000);
		document.addEventListener("visibilitychange", turn);
		return () => {
			clearInterval(timer);
			document.removeEventListener("visibilitychange", turn);
		};
	}, [seconds]);
}
