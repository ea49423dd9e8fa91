import { useEffect, useRef, useState } from "preact/hooks";
import { attempt } from "../../ui/feedback.tsx";

/**
 * Keeps an order that is shown immediately and saved in the background. If saving fails, the last
 * saved order is shown again.
 * @param saved the ids in the saved order
 * @param save saves an order. Calls don't overlap. Of several waiting orders, only the newest is
 * saved
 */
export function useOrder(saved: number[], save: (ids: number[]) => Promise<void>) {
	const [shown, setShown] = useState<number[]>();
	const waiting = useRef<number[]>(undefined);
	const isSaving = useRef(false);

	async function place(ids: number[]) {
		setShown(ids);
		waiting.current = ids;
		if (isSaving.current) return;
		isSaving.current = true;
		await attempt(async () => {
			while (waiting.current) {
				const next = waiting.current;
				waiting.current = undefined;
				await save(next);
			}
		});
		waiting.current = undefined;
		isSaving.current = false;
		setShown(undefined);
	}

	const ids = shown && shown.length === saved.length ? shown : saved;
	return {
		ids,
		/** Moves an item to another index. */
		move(id: number, to: number) {
			const others = ids.filter((other) => other !== id);
			const next = [...others.slice(0, to), id, ...others.slice(to)];
			if (next.some((id, i) => id !== ids[i])) place(next);
		},
	};
}

type Drag = { id: number; to: number };

/** Returns the index at which an item is dropped with the pointer at this height. */
function placeAt(y: number, items: Element[], dragged: Element | undefined) {
	const others = items.filter((item) => item !== dragged);
	return others.filter((item) => {
		const { top, height } = item.getBoundingClientRect();
		return y > top + height / 2;
	}).length;
}

/**
 * Drags an item of a list by a handle, with a mouse, a pen or a finger. Escape cancels.
 * @param ids the ids of the items, in order
 */
export function useDrag(ids: number[], onDrop: (id: number, to: number) => void) {
	const list = useRef<HTMLOListElement>(null);
	const [drag, setDrag] = useState<Drag>();
	const current = useRef({ drag, ids, onDrop });
	current.current = { drag, ids, onDrop };

	const isDragging = drag !== undefined;
	useEffect(() => {
		if (!isDragging) return;
		const controller = new AbortController();
		const { signal } = controller;
		const cancel = () => setDrag(undefined);
		const move = ({ clientY }: PointerEvent) => {
			const items = [...(list.current?.children ?? [])];
			setDrag(
				(drag) =>
					drag && {
						...drag,
						to: placeAt(clientY, items, items[current.current.ids.indexOf(drag.id)]),
					},
			);
		};
		const drop = () => {
			const { drag, onDrop } = current.current;
			cancel();
			if (drag) onDrop(drag.id, drag.to);
		};
		const key = ({ key }: KeyboardEvent) => key === "Escape" && cancel();
		document.addEventListener("pointermove", move, { signal });
		document.addEventListener("pointerup", drop, { signal });
		document.addEventListener("pointercancel", cancel, { signal });
		document.addEventListener("keydown", key, { signal });
		return () => controller.abort();
	}, [isDragging]);

	return {
		list,
		start(event: PointerEvent, id: number) {
			if (event.button !== 0) return;
			event.preventDefault();
			setDrag({ id, to: ids.indexOf(id) });
		},
		/**
		 * Returns the mark of an item: it is being dragged, or next to the place where the item would
		 * be dropped.
		 */
		markOf(id: number) {
			if (!drag) return undefined;
			if (drag.id === id) return "dragged";
			const others = ids.filter((other) => other !== drag.id);
			const i = others.indexOf(id);
			if (drag.to === ids.indexOf(drag.id)) return undefined;
			if (i === drag.to) return "drop-before";
			return i === drag.to - 1 && drag.to === others.length ? "drop-after" : undefined;
		},
	};
}
