import type { ButtonHTMLAttributes } from "preact";
import { useRef, useState } from "preact/hooks";
import { attempt } from "./feedback.tsx";

/** Runs one action at a time, and ignores others until it ends. Errors are shown as notes. */
export function useAction() {
	const isRunning = useRef(false);
	const [isBusy, setBusy] = useState(false);
	async function run(work: () => unknown) {
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

/** A button. Until its action ends, it is busy and ignores clicks. */
export function Button({
	onPress,
	isOff = false,
	...look
}: Pick<ButtonHTMLAttributes<HTMLButtonElement>, "class" | "aria-label" | "children"> & {
	onPress: () => unknown;
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

type Look = Omit<Parameters<typeof Button>[0], "class">;

/** A button that isn't the main one of its page. */
export const SecondaryButton = (button: Look) => <Button class="secondary outline" {...button} />;

/** A button in a row of a list or beside a text. */
export const SmallButton = (button: Look) => <Button class="secondary outline small" {...button} />;

/** A button in a menu of a row. */
export const PlainButton = (button: Look) => <Button class="plain" {...button} />;

/** A link to another page that looks like the page's main button. */
export const LinkButton = ({ href, children }: { href: string; children: string }) => (
	<a class="button" href={href}>
		{children}
	</a>
);
