/** The entry of the timeline that the user points at or has selected. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useQuery } from "../../load.ts";

/** The delay before a selected window is added to the URL. */
const PAUSE_MS = 250;

/** The values are signals, so that changes don't render the timeline again. */
export type Attention = {
	/** The key of the entry with the pointer or the focus, which is described below the timeline. */
	active: Signal<string | undefined>;
	/** The key of the entry that had the focus last. Tab moves the focus to it. */
	chosen: Signal<string | undefined>;
	/** Selects an entry, and adds it to the URL after a delay; immediately if the user is leaving the page. */
	choose: (key: string, isLeaving?: boolean) => void;
	/** Clears the selection, for example when another range is shown. */
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
