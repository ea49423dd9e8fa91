import { useEffect, useRef } from "preact/hooks";

const DELAY_MS = 250;

/**
 * Delays an action, so that it isn't repeated for each letter that the user types. A later action
 * replaces the one that waits, and leaving the page cancels it.
 */
export function useDelay() {
	const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
	const cancel = () => clearTimeout(timer.current);
	useEffect(() => cancel, []);
	const delay = (action: () => unknown) => {
		cancel();
		timer.current = setTimeout(action, DELAY_MS);
	};
	return { delay, cancel };
}
