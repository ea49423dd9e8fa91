import {
	type ComponentChildren,
	createContext,
	type InputHTMLAttributes,
	type RefObject,
	type SelectHTMLAttributes,
	type TextareaHTMLAttributes,
} from "preact";
import { useContext, useId, useRef, useState } from "preact/hooks";
import { TenantryError } from "tenantry-client";
import { SecondaryButton } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Words, wordsOf } from "./feedback.tsx";
import { MayChange } from "./may_change.ts";
import { useUnsaved } from "./unsaved.ts";

/** Returns an error of the page itself, which is shown next to a field, or above the buttons. */
export const rejection = (field: string | null, detail: string) =>
	new TenantryError({
		type: "validation_error",
		code: "invalid_input",
		status: 400,
		attr: field,
		detail,
	});

type FieldError = { name: string; text: string };

const Wrong = createContext<FieldError | undefined>(undefined);

/**
 * Returns the field of an error. An error of a nested value, such as `allowed_ips__1`, belongs to
 * the field of the whole value.
 */
function findField(form: HTMLFormElement, attr: string) {
	for (let name = attr; name; name = name.slice(0, Math.max(0, name.lastIndexOf("__")))) {
		const field = form.elements.namedItem(name);
		const [first] = field instanceof RadioNodeList ? field : [field];
		if (first instanceof HTMLElement) return { name, first };
	}
	return undefined;
}

/**
 * Returns the message of an error next to a field, with the number of the entry in a multi-line
 * field.
 */
function textBeside(
	error: unknown,
	attr: string,
	{ name, first }: { name: string; first: Element },
) {
	const [, index] = /^__(\d+)$/.exec(attr.slice(name.length)) ?? [];
	const isEntry = index !== undefined && first instanceof HTMLTextAreaElement;
	return isEntry ? `Entry ${Number(index) + 1}: ${wordsOf(error)}` : wordsOf(error);
}

type FormProps = {
	/** The label of the button, such as "Save". */
	action: string;
	isDangerous?: boolean;
	/** Whether another button is the main one of the page. */
	isSecondary?: boolean;
	/** Called with the fields. Its error is shown. It returns `false` if nothing is saved yet. */
	onSubmit: (fields: FormData) => Promise<unknown>;
	onCancel?: (() => void) | undefined;
	/** Other buttons before the main one that also get the fields, such as "Test". */
	others?: readonly (readonly [action: string, onSubmit: (fields: FormData) => Promise<unknown>])[];
	/**
	 * Whether to ask before changes are lost. Set it to false if the form saves nothing, such as a
	 * choice of filters.
	 */
	asks?: boolean;
	/**
	 * Whether to show the stored values after saving, unless the user entered something in the
	 * meantime.
	 */
	showsSaved?: boolean;
	children: ComponentChildren;
};

const Buttons = ({
	action,
	isDangerous = false,
	isSecondary = false,
	onCancel,
	others = [],
	isBusy,
}: Omit<FormProps, "onSubmit" | "children"> & { isBusy: boolean }) => (
	<div class="buttons">
		{onCancel && <SecondaryButton onPress={onCancel}>Cancel</SecondaryButton>}
		{others.map(([words]) => (
			<button
				key={words}
				type="submit"
				class="secondary outline"
				data-action={words}
				aria-disabled={isBusy}
			>
				{words}
			</button>
		))}
		<button
			type="submit"
			class={isDangerous ? "danger" : isSecondary ? "secondary outline" : undefined}
			aria-disabled={isBusy}
		>
			{action}
		</button>
	</div>
);

/** The error of a form: beside a field, or above the buttons. */
function useErrors(form: RefObject<HTMLFormElement | null>) {
	const [wrong, setWrong] = useState<FieldError>();
	const [problem, setProblem] = useState("");
	function clear() {
		setWrong(undefined);
		setProblem("");
	}
	function showError(error: unknown) {
		const name = error instanceof TenantryError ? error.attr : null;
		const field = name && form.current ? findField(form.current, name) : undefined;
		if (name && field) {
			setWrong({ name: field.name, text: textBeside(error, name, field) });
			const folded = field.first.closest("details");
			if (folded) folded.open = true;
			field.first.focus();
		} else setProblem(name ? `${name}: ${wordsOf(error)}` : wordsOf(error));
	}
	/** Removes the error of the form, and of a field if it changes. */
	function onInput({ target }: InputEvent) {
		setProblem("");
		if (wrong && target instanceof Element && target.closest(`[name="${CSS.escape(wrong.name)}"]`))
			setWrong(undefined);
	}
	return { wrong, problem, showError, clear, onInput };
}

/**
 * A form. Errors are shown next to the field in `attr`, or above the buttons if the form has no
 * such field.
 */
export function Form({
	onSubmit,
	others = [],
	asks = true,
	showsSaved = false,
	children,
	...buttons
}: FormProps) {
	const form = useRef<HTMLFormElement>(null);
	const { wrong, problem, showError, clear, onInput } = useErrors(form);
	const [isBusy, setBusy] = useState(false);
	const [saves, setSaves] = useState(0);
	// A form that saves nothing, such as that of a download, can be used anyway.
	const isOff = !useContext(MayChange) && asks;
	const sendChanges = useUnsaved(form, asks);

	async function submit(event: SubmitEvent) {
		event.preventDefault();
		if (isBusy || !form.current) return;
		setBusy(true);
		clear();
		try {
			const fields = new FormData(form.current);
			const forgetChanges = sendChanges();
			const other = others.find(([words]) => words === event.submitter?.dataset.action);
			if (other) await other[1](fields);
			else if ((await onSubmit(fields)) !== false && forgetChanges() && showsSaved)
				setSaves((saves) => saves + 1);
		} catch (error) {
			showError(error);
		}
		setBusy(false);
	}

	return (
		<form ref={form} class="form" onSubmit={submit} onInput={onInput} aria-busy={isBusy}>
			<Wrong.Provider key={saves} value={wrong}>
				{isOff ? (
					<fieldset class="read-only" disabled>
						{children}
					</fieldset>
				) : (
					children
				)}
			</Wrong.Provider>
			<div class="form-problem" role="alert">
				<Words key={problem} text={problem} />
			</div>
			{!isOff && <Buttons {...buttons} others={others} isBusy={isBusy} />}
		</form>
	);
}

/** A dialog with a form, which can be cancelled. */
export const FormDialog = ({
	title,
	onClose,
	...form
}: Omit<FormProps, "onCancel"> & { title: string; onClose: () => void }) => (
	<Dialog title={title} onClose={onClose}>
		<Form {...form} onCancel={onClose} />
	</Dialog>
);

/** Returns the trimmed text of a field; "" if it is missing. */
export function text(fields: FormData, name: string) {
	const value = fields.get(name);
	return typeof value === "string" ? value.trim() : "";
}

/** Rejects an empty list, which would mean no restriction. */
export function assertChosen(attr: string, ids: readonly unknown[]) {
	if (ids.length === 0) throw rejection(attr, "Select at least one, or remove the restriction.");
}

/** Returns the texts of all fields with this name, such as selected checkboxes. */
export const texts = (fields: FormData, name: string) =>
	fields.getAll(name).filter((value) => typeof value === "string");

type Described = {
	/**
	 * The name of the field, which is the `attr` of its errors, such as
	 * `destination__config__bucket_name`.
	 */
	name: string;
	label: ComponentChildren;
	/** Help for filling in the field. */
	hint?: ComponentChildren;
};

/** Returns the hint and error of a control, and the attributes that connect them with it. */
function useField({ name, hint }: Pick<Described, "name" | "hint">) {
	const id = useId();
	const wrong = useContext(Wrong);
	const error = wrong?.name === name ? wrong.text : undefined;
	const described = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(" ");
	return {
		id,
		control: {
			id,
			name,
			...(error !== undefined && { "aria-invalid": true }),
			...(described && { "aria-describedby": described }),
		},
		below: (
			<>
				{error !== undefined && (
					<small id={`${id}-error`} class="field-error">
						{error}
					</small>
				)}
				{hint && (
					<small id={`${id}-hint`} class="hint">
						{hint}
					</small>
				)}
			</>
		),
	};
}

export function Field({
	name,
	label,
	hint,
	...input
}: Described & InputHTMLAttributes<HTMLInputElement>) {
	const { id, control, below } = useField({ name, hint });
	return (
		<div class="field">
			<label for={id}>{label}</label>
			<input autocomplete="off" {...input} {...control} />
			{below}
		</div>
	);
}

export function Area({
	name,
	label,
	hint,
	...area
}: Described & TextareaHTMLAttributes<HTMLTextAreaElement>) {
	const { id, control, below } = useField({ name, hint });
	return (
		<div class="field">
			<label for={id}>{label}</label>
			<textarea rows={4} {...area} {...control} />
			{below}
		</div>
	);
}

type Choices = readonly (readonly [value: string, words: string])[];

export function Select({
	name,
	label,
	hint,
	options,
	...select
}: Described & { options: Choices } & SelectHTMLAttributes<HTMLSelectElement>) {
	const { id, control, below } = useField({ name, hint });
	const { defaultValue, value = defaultValue } = select;
	return (
		<div class="field">
			<label for={id}>{label}</label>
			<select {...select} {...control}>
				{options.map(([option, words]) => (
					<option key={option} value={option} selected={option === value}>
						{words}
					</option>
				))}
			</select>
			{below}
		</div>
	);
}

type Tick = Described & {
	/** The value if it is selected; "on" by default. */
	value?: string;
	checked?: boolean;
	defaultChecked?: boolean;
	disabled?: boolean;
	onChange?: (isTicked: boolean) => void;
};

function Ticked({
	name,
	label,
	hint,
	onChange,
	kind,
	...input
}: Tick & { kind: "checkbox" | "radio" }) {
	const { id, control, below } = useField({ name, hint });
	const attributes = {
		...input,
		...control,
		onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
			onChange?.(currentTarget.checked),
	};
	return (
		<div class="field check">
			{kind === "radio" ? (
				<input type="radio" {...attributes} />
			) : (
				<input type="checkbox" {...attributes} />
			)}
			<label for={id}>{label}</label>
			{below}
		</div>
	);
}

export const Check = (props: Tick) => <Ticked {...props} kind="checkbox" />;

/** A radio button, in a `Group`. */
export const Choice = (props: Tick) => <Ticked {...props} kind="radio" />;

/**
 * A group of checkboxes or radio buttons. If it has a `name`, it shows the errors of this name. The
 * checkboxes then need other names.
 */
export function Group({
	name,
	label,
	hint,
	children,
}: {
	name?: string;
	label: string;
	hint?: ComponentChildren;
	children: ComponentChildren;
}) {
	const id = useId();
	const wrong = useContext(Wrong);
	const error = name !== undefined && wrong?.name === name ? wrong.text : undefined;
	return (
		<fieldset name={name} tabIndex={-1} aria-describedby={error && `${id}-error`}>
			<legend>{label}</legend>
			{hint && <small class="hint">{hint}</small>}
			{error !== undefined && (
				<small id={`${id}-error`} class="field-error">
					{error}
				</small>
			)}
			{children}
		</fieldset>
	);
}
