import { signal } from "@preact/signals";
import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { dialogs, Notes } from "./feedback.tsx";
import { Icon } from "./icon.tsx";
import { hasUnsaved, watchForms } from "./unsaved.ts";

/** What has the focus when a dialog opens that asks for something: the first field, or the button that changes nothing. */
const FIRST =
	"form :is(input:not([type=hidden], [type=radio]:not(:checked)), select, textarea, .buttons > button)";

/** The button that opens what an element is in, such as a menu that has closed. */
function openerOf(element: Element) {
	for (let around: Element | null = element; around; around = around.parentElement) {
		const opener = document.querySelector<HTMLElement>(
			`[aria-controls="${CSS.escape(around.id)}"]`,
		);
		if (around.id && opener?.checkVisibility()) return opener;
	}
	return undefined;
}

/** A dialog above the page. It exists while it is open: Escape and × call `onClose`, unless the user keeps changes of a form. */
export function Dialog({
	title,
	about,
	onClose,
	children,
}: {
	title: string;
	/** The id of the text that screen readers read out when it opens. */
	about?: string;
	onClose: () => void;
	children: ComponentChildren;
}) {
	const ref = useRef<HTMLDialogElement>(null);
	/** What has the focus, or had it last. */
	const focused = useRef<HTMLElement | undefined>(undefined);
	const id = useId();
	useLayoutEffect(() => {
		const dialog = ref.current;
		const { activeElement } = document;
		dialog?.showModal();
		dialog?.querySelector<HTMLElement>(FIRST)?.focus();
		dialogs.value = [...dialogs.value, id];
		return () => {
			dialogs.value = dialogs.value.filter((open) => open !== id);
			// Gives the focus back to where it was.
			dialog?.close();
			if (activeElement && !activeElement.checkVisibility()) openerOf(activeElement)?.focus();
		};
	}, []);
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
				// Escape in a dialog that was opened from this one, or in a list of choices.
				if (event.target !== event.currentTarget) return;
				event.preventDefault();
				if (event.cancelable) leave();
			}}
			onClose={() => {
				// The browser itself closes it if Escape is pressed a few times with nothing in between.
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
	/** What will happen, and whether it can be undone. */
	text: ComponentChildren;
	/** The words of the button, such as "Delete". */
	action: string;
	/** The words of the other button, where "Cancel" would be the action itself. */
	stay?: string;
	/** Whether something is lost; true by default. */
	isDangerous?: boolean;
	/** What must be typed first, such as the name of what is deleted. */
	typed?: string;
};

const asked = signal<(Question & { answer: (yes: boolean) => void }) | undefined>();

/** Asks before something that can't be undone, or that has consequences. */
export const confirm = (question: Question) =>
	new Promise<boolean>((resolve) => {
		// Back can be pressed while another question is open, which then isn't asked any more.
		asked.value?.answer(false);
		asked.value = {
			...question,
			answer: (yes) => {
				asked.value = undefined;
				resolve(yes);
			},
		};
	});

/**
 * Asks before changes of forms are lost, if there are any within this part of the page. Once they are saved or their
 * form is gone, the question is withdrawn, and the answer is no.
 */
export async function mayDiscard(within?: Node) {
	if (!hasUnsaved(within)) return true;
	const answer = confirm({
		title: "Discard your changes?",
		text: "What you entered isn't saved.",
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
					<button type="button" class="secondary outline" onClick={() => answer(false)}>
						{stay}
					</button>
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

/** Where `confirm` asks. The shell has one. */
export const Questions = () =>
	asked.value ? <Asked key={asked.value.title} {...asked.value} /> : null;
