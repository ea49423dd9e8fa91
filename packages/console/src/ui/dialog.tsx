import { signal } from "@preact/signals";
import { X } from "lucide";
import type { ComponentChildren, RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { openerOf } from "../focus.ts";
import { SecondaryButton } from "./button.tsx";
import { dialogs, Notes } from "./feedback.tsx";
import { Icon } from "./icon.tsx";
import { hasUnsaved, watchForms } from "./unsaved.ts";

/**
 * The element that gets the focus when a dialog opens: the first field, or the button that cancels.
 */
const FIRST =
	"form :is(input:not([type=hidden], [type=radio]:not(:checked)), select, textarea, .buttons > button)";

/** Opens the dialog and sets the focus; closes it and restores the focus when it is removed. */
function useModal(ref: RefObject<HTMLDialogElement | null>, id: string) {
	useLayoutEffect(() => {
		const dialog = ref.current;
		const { activeElement } = document;
		dialog?.showModal();
		dialog?.querySelector<HTMLElement>(FIRST)?.focus();
		dialogs.value = [...dialogs.value, id];
		return () => {
			dialogs.value = dialogs.value.filter((open) => open !== id);
			// This restores the previous focus.
			dialog?.close();
			if (activeElement && !activeElement.checkVisibility()) openerOf(activeElement)?.focus();
		};
	}, []);
}

/**
 * A dialog. It exists while it is open. Escape and × call `onClose`, unless the user wants to keep
 * unsaved changes.
 */
export function Dialog({
	title,
	about,
	onClose,
	children,
}: {
	title: string;
	/** The id of the text that screen readers announce when the dialog opens. */
	about?: string;
	onClose: () => void;
	children: ComponentChildren;
}) {
	const ref = useRef<HTMLDialogElement>(null);
	/** The element that has or last had the focus. */
	const focused = useRef<HTMLElement | undefined>(undefined);
	const id = useId();
	useModal(ref, id);
	async function leave() {
		if (ref.current && (await mayDiscard(ref.current))) onClose();
	}
	return (
		<dialog
			ref={ref}
			aria-labelledby={id}
			aria-describedby={about}
			onFocusIn={({ target }) => {
				if (target instanceof HTMLElement) focused.current = target;
			}}
			onCancel={(event) => {
				// Ignore Escape in a nested dialog or a select.
				if (event.target !== event.currentTarget) return;
				event.preventDefault();
				if (event.cancelable) leave();
			}}
			onClose={() => {
				// The browser closes the dialog if Escape is pressed several times in a row. Open it again.
				const field = focused.current;
				ref.current?.showModal();
				field?.focus();
				leave();
			}}
		>
			<article>
				<header>
					<h2 id={id}>{title}</h2>
					<button type="button" class="plain" aria-label="Close" onClick={leave}>
						<Icon of={X} />
					</button>
				</header>
				{children}
			</article>
			<Notes dialog={id} />
		</dialog>
	);
}

type Question = {
	title: string;
	/** Describes what will happen, and whether it can be undone. */
	text: ComponentChildren;
	/** The label of the button, such as "Delete". */
	action: string;
	/** The label of the other button, if "Cancel" could be confused with the action. */
	stay?: string;
	/** Whether data is lost; true by default. */
	isDangerous?: boolean;
	/** The text that the user must type, such as the name of the object to delete. */
	typed?: string;
};

const asked = signal<(Question & { answer: (yes: boolean) => void }) | undefined>();

/** Answers the question that is open, if there is one, with no. */
export const cancelQuestion = () => asked.value?.answer(false);

/** Asks for confirmation before an action that can't be undone or has consequences. */
export const confirm = (question: Question) =>
	new Promise<boolean>((resolve) => {
		// Back can be pressed while another dialog is open.
		cancelQuestion();
		asked.value = {
			...question,
			answer: (yes) => {
				asked.value = undefined;
				resolve(yes);
			},
		};
	});

/**
 * Asks for confirmation if forms within this part of the page have unsaved changes. Returns whether
 * they can be discarded. If they are saved or their form is removed in the meantime, the dialog
 * closes and the result is false.
 */
export async function mayDiscard(within?: Node) {
	if (!hasUnsaved(within)) return true;
	const answer = confirm({
		title: "Discard your changes?",
		text: "Your changes aren't saved.",
		action: "Discard changes",
		stay: "Keep editing",
	});
	const unwatch = watchForms(() => hasUnsaved(within) || asked.value?.answer(false));
	const isSure = await answer;
	unwatch();
	return isSure;
}

function Asked({
	title,
	text,
	action,
	stay = "Cancel",
	isDangerous = true,
	typed,
	answer,
}: NonNullable<typeof asked.value>) {
	const [value, setValue] = useState("");
	const about = useId();
	return (
		<Dialog title={title} about={about} onClose={() => answer(false)}>
			<form
				onSubmit={(event) => {
					event.preventDefault();
					answer(true);
				}}
			>
				<div id={about}>{typeof text === "string" ? <p>{text}</p> : text}</div>
				{typed !== undefined && (
					<label>
						<span>
							Type <strong class="typed">{typed}</strong> to confirm
						</span>
						<input
							autocomplete="off"
							spellcheck={false}
							value={value}
							onInput={({ currentTarget }) => setValue(currentTarget.value)}
						/>
					</label>
				)}
				<div class="buttons">
					<SecondaryButton onPress={() => answer(false)}>{stay}</SecondaryButton>
					<button
						type="submit"
						class={isDangerous ? "danger" : undefined}
						disabled={typed !== undefined && value !== typed}
					>
						{action}
					</button>
				</div>
			</form>
		</Dialog>
	);
}

/** Shows the dialog of `confirm`. Only the app uses it. */
export const Questions = () =>
	asked.value ? <Asked key={asked.value.title} {...asked.value} /> : null;
