import { useState } from "preact/hooks";
import { PreconditionFailedError } from "tenantry-client";
import { Button, useAction } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { say } from "./feedback.tsx";

type Values = object;

/** How often changes are sent while other fields of the object change. */
const MAX_ATTEMPTS = 3;

const YOURS = "Your version";
const SAVED = "Saved version";

const fieldOf = (object: Values, name: string): unknown =>
	new Map(Object.entries(object)).get(name);

const shown = (value: unknown) =>
	value === undefined || value === null || value === ""
		? "–"
		: typeof value === "boolean"
			? value
				? "Yes"
				: "No"
			: typeof value === "object"
				? JSON.stringify(value)
				: String(value);

/** A value of a version. Text with several lines is shown as such, and scrolls. */
function Value({ children }: { children: string }) {
	if (!children.includes("\n")) return <>{children}</>;
	// biome-ignore lint/a11y/noNoninteractiveTabindex: long text scrolls, with the keyboard too
	return <pre tabIndex={0}>{children}</pre>;
}

type Row = { name: string; label: string; yours: string; saved: string };

// biome-ignore-start lint/a11y/noRedundantRoles: as a list on phones, the elements would lose their roles
const Versions = ({ rows }: { rows: Row[] }) => (
	<table role="table" class="versions">
		<thead role="rowgroup">
			<tr role="row">
				{["Field", YOURS, SAVED].map((title) => (
					<th key={title} role="columnheader" scope="col">
						{title}
					</th>
				))}
			</tr>
		</thead>
		<tbody role="rowgroup">
			{rows.map(({ name, label, yours, saved }) => (
				<tr key={name} role="row">
					<th role="rowheader" scope="row">
						{label}
					</th>
					<td role="cell" data-title={YOURS}>
						<Value>{yours}</Value>
					</td>
					<td role="cell" data-title={SAVED}>
						<Value>{saved}</Value>
					</td>
				</tr>
			))}
		</tbody>
	</table>
);
// biome-ignore-end lint/a11y/noRedundantRoles: as above

/** Shows both versions of the fields that differ, and lets the user choose one. */
function ConflictDialog({
	theirs,
	changes,
	labels,
	onKeep,
	onSave,
	onClose,
}: {
	theirs: Values;
	changes: Values;
	labels: Values;
	onKeep: () => Promise<unknown>;
	onSave: () => Promise<unknown>;
	onClose: () => void;
}) {
	/** Whether a choice is being saved. */
	const { isBusy, run } = useAction();
	const rows = Object.keys(changes)
		.map((name) => ({
			name,
			label: shown(fieldOf(labels, name) ?? name),
			yours: shown(fieldOf(changes, name)),
			saved: shown(fieldOf(theirs, name)),
		}))
		.filter(({ yours, saved }) => yours !== saved);
	return (
		<Dialog title="Someone else changed this" onClose={() => isBusy || onClose()}>
			<p>
				Someone else saved changes after you opened this page. Your changes aren't saved yet. Choose
				which version to keep.
			</p>
			<Versions rows={rows} />
			{rows.length === 0 && <p>Both versions have the same values.</p>}
			<div class="buttons">
				<button
					type="button"
					class="secondary outline"
					aria-disabled={isBusy}
					onClick={() => run(onKeep)}
				>
					Keep saved version
				</button>
				<Button onPress={() => run(onSave)}>Save your version</Button>
			</div>
		</Dialog>
	);
}

type Saving<T, Changes> = {
	/** Loads the current object with `get` of the client, which has the ETag. */
	read: () => Promise<T>;
	/** Updates the object with `update` of the client. */
	update: (object: T, changes: Changes) => Promise<T>;
	/**
	 * Called with the new object after the change, or after the user chose the other version. It must
	 * load the object again: responses to changes have no ETag, and without one the next change could
	 * overwrite the changes of others.
	 */
	onSaved: (object: T) => unknown;
	/** The labels of the fields. */
	labels: Partial<Record<keyof Changes & string, string>>;
	/** Returns the values to compare by name, if they aren't the object's own fields. */
	fields?: (object: T) => Values;
};

/**
 * Saves changes of an object. If someone else has changed the same fields since the page loaded
 * them, a dialog shows both versions, and the user chooses. Add `dialog` to the page. `version`
 * changes when the object has values that the form doesn't show. Use it as the `key` of the form to
 * show them.
 */
export function useSave<T extends Values, Changes extends Values>({
	read,
	update,
	onSaved,
	labels,
	fields = (object) => object,
}: Saving<T, Changes>) {
	const [conflict, setConflict] = useState<{ theirs: T; changes: Changes }>();
	const [version, setVersion] = useState(0);
	const showStored = () => setVersion((version) => version + 1);

	/** @returns whether it was saved; if not, the dialog is open */
	async function send(object: T, changes: Changes, attempts: number): Promise<boolean> {
		let saved: T;
		try {
			saved = await update(object, changes);
		} catch (error) {
			if (!(error instanceof PreconditionFailedError)) throw error;
			const theirs = await read();
			const [now, before] = [fields(theirs), fields(object)];
			const isSame = (name: string) => shown(fieldOf(now, name)) === shown(fieldOf(before, name));
			// Only other fields have changed, such as its state.
			if (Object.keys(changes).every(isSame)) {
				if (attempts === 1) throw error;
				return sendOver(theirs, changes, attempts - 1);
			}
			setConflict({ theirs, changes });
			return false;
		}
		await onSaved(saved);
		return true;
	}

	/** Saves changes to a newer version of the object than the form shows. */
	async function sendOver(theirs: T, changes: Changes, attempts = MAX_ATTEMPTS) {
		const isSaved = await send(theirs, changes, attempts);
		if (isSaved) showStored();
		return isSaved;
	}

	return {
		version,
		/**
		 * @param object the object that the page loaded with `get`
		 * @param note the text to show when it is saved
		 * @returns whether it was saved; if not, the dialog is open
		 */
		async save(object: T, changes: Changes, note?: string) {
			const isSaved = await send(object, changes, MAX_ATTEMPTS);
			if (isSaved && note) say(note);
			return isSaved;
		},
		dialog: conflict && (
			<ConflictDialog
				theirs={fields(conflict.theirs)}
				changes={conflict.changes}
				labels={labels}
				onKeep={async () => {
					await onSaved(conflict.theirs);
					setConflict(undefined);
					showStored();
				}}
				onSave={async () => {
					// If it wasn't saved, the dialog shows an even newer version.
					if (!(await sendOver(conflict.theirs, conflict.changes))) return;
					setConflict(undefined);
					say("Your version is saved.");
				}}
				onClose={() => setConflict(undefined)}
			/>
		),
	};
}
