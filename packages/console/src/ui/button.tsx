import type { ButtonHTMLAttributes } from "preact";
import { useRef, useState } from "preact/hooks";
import { attempt } from "./feedback.tsx";

/** Runs one action at a time: while one runs, others don't begin. What fails is said below the page. */
export function useAction() {
	const isRunning = useRef(false);
	const [isBusy, setBusy] = useState(false);
	async function run(work: () => Promise<unknown>) {
		// Not the state: a second click may come before the next render.
		if (isRunning.current) return;
		isRunning.current = true;
		setBusy(true);
		await attempt(work);
		isRunning.current = false;
		setBusy(false);
	}
	return { isBusy, run };
}

/** A button for what takes a while. Until that ends, the button says that it is busy, and further clicks do nothing. */
export function Button({
	onPress,
	isOff = false,
	...look
}: Pick<ButtonHTMLAttributes<HTMLButtonElement>, "class" | "aria-label" | "children"> & {
	onPress: () => Promise<unknown>;
	/** Whether there is nothing to do now. */
	isOff?: boolean;
}) {
	const { isBusy, run } = useAction();
	return (
		<button
			type="button"
			{...look}
			aria-disabled={isOff || isBusy}
			aria-busy={isBusy}
			onClick={() => isOff || run(onPress)}
		/>
	);
}
