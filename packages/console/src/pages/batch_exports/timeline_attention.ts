/** The entry of the timeline that the user points at or has selected. */
import { type Signal, useSignal } from "@preact/signals";
import { useQuery } from "../../load.ts";
import { useDelay } from "../../ui/delay.ts";

/** The values are signals, so that changes don't render the timeline again. */
export type Attention = {
	/** The key of the entry with the pointer or the focus, which is described below the timeline. */
	active: Signal<string | undefined>;
	/** The key of the entry that had the focus last. Tab moves the focus to it. */
	chosen: Signal<string | undefined>;
	/**
	 * Selects an entry, and adds it to the URL after a delay; immediately if the user is leaving the
	 * page.
	 */
	choose: (key: string, isLeaving?: boolean) => void;
	/** Clears the selection, for example when another range is shown. */
	forget: () => void;
};

export function useAttention(): Attention {
	const [{ window: linked }, change] = useQuery();
	const active = useSignal(linked);
	const chosen = useSignal(linked);
	const { delay, cancel } = useDelay();
	const choose = (key: string, isLeaving = false) => {
		active.value = key;
		chosen.value = key;
		cancel();
		if (isLeaving) change({ window: key });
		else delay(() => change({ window: key }));
	};
	const forget = () => {
		cancel();
		active.value = undefined;
		chosen.value = undefined;
	};
	return { active, chosen, choose, forget };
}
