/** Which entry of the timeline somebody looks at. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useQuery } from "../../load.ts";

/** How long a window has to be chosen until the URL says so, in milliseconds. */
const PAUSE_MS = 250;

/** Signals, so that nothing is drawn again when they change. */
export type Attention = {
	/** The key of the entry that the pointer is at, or that has the focus: the detail is about it. */
	active: Signal<string | undefined>;
	/** The key of the entry that had the focus last, which Tab leads to. */
	chosen: Signal<string | undefined>;
	/** Chooses an entry. The URL says so soon, so that a link or going back leads to it; at once before the page is left. */
	choose: (key: string, isLeaving?: boolean) => void;
	/** Forgets the entry that was chosen, such as when another range is shown. */
	forget: () => void;
};

export function useAttention(): Attention {
	const [{ window: linked }, change] = useQuery();
	const active = useSignal(linked);
	const chosen = useSignal(linked);
	const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
	useEffect(() => () => clearTimeout(timer.current), []);
	const choose = (key: string, isLeaving = false) => {
		active.value = key;
		chosen.value = key;
		clearTimeout(timer.current);
		if (isLeaving) change({ window: key });
		else timer.current = setTimeout(() => change({ window: key }), PAUSE_MS);
	};
	const forget = () => {
		clearTimeout(timer.current);
		active.value = undefined;
		chosen.value = undefined;
	};
	return { active, chosen, choose, forget };
}
