import type { ButtonHTMLAttributes } from "preact";
import { useRef, useState } from "preact/hooks";
import { attempt } from "./feedback.tsx";

/** Runs one action at a time, and ignores others until it ends. Errors are shown as notes. */
export function useAction() {
	const isRunning = useRef(false);
	const [isBusy, setBusy] = useState(false);
	async function run(work: () => Promise<unknown>) {
		// Check the ref, not the state, because a second click can come before the next render.
		if (isRunning.current) return;
		isRunning.current = true;
		setBusy(true);
		await attempt(work);
		isRunning.current = false;
		setBusy(false);
	}
	return { isBusy, run };
}

/** A button with a slow action. Until the action ends, the button is busy and ignores clicks. */
export function Button({
	onPress,
	isOff = false,
	...look
}: Pick<ButtonHTMLAttributes<HTMLButtonElement>, "class" | "aria-label" | "children"> & {
	onPress: () => Promise<unknown>;
	/** Whether the button is disabled. */
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
