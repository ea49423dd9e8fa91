import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { PreconditionFailedError, type RequestOptions } from "tenantry-client";
import { Button, useAction } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { say } from "./feedback.tsx";

type Values = object;

type Clash<T, Changes> = { theirs: T; changes: Changes };

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

/** A value of a version. A text with several lines keeps them, and scrolls. */
function Value({ children }: { children: string }) {
	if (!children.includes("\n")) return <>{children}</>;
	// biome-ignore lint/a11y/noNoninteractiveTabindex: a text that is longer than its place scrolls, with the keyboard too
	return <pre tabIndex={0}>{children}</pre>;
}

/**
 * Saves changes of an object, unless somebody else changed the same fields since this page read it.
 * Then a dialog shows both versions, and the user decides. Put `dialog` somewhere on the page. `version`
 * changes when the object has values that the form doesn't show. As the form's key, it makes the form show them.
 */
export function useSave<T extends Values, Changes extends Values>({
	read,
	update,
	onSaved,
	labels,
	fields = (object) => object,
}: {
	/** Reads the object as it is now, by the client's `get`: only that knows its ETag. */
	read: () => Promise<T>;
	/** Changes it, by the client's `update`. */
	update: (object: T, changes: Changes, options?: RequestOptions) => Promise<T>;
	/**
	 * Called after the change, or after the user took the other version, with the object as it is then. The page has to
	 * load it again: the answer to a change has no ETag, and without one the next change could overwrite those of others.
	 */
	onSaved: (object: T) => unknown;
	/** The names of the fields, for people. */
	labels: Partial<Record<keyof Changes & string, string>>;
	/** Gives the object's values under the names of the changes, if they aren't the object's own fields. */
	fields?: (object: T) => Values;
}) {
	const [clash, setClash] = useState<Clash<T, Changes>>();
	const [version, setVersion] = useState(0);
	/** The choice of a version can't be changed while it is carried out. */
	const { isBusy, run } = useAction();

	/**
	 * @param object as this page read it by `get`
	 * @returns whether it was saved; if not, the dialog is open
	 */
	async function save(object: T, changes: Changes): Promise<boolean> {
		let saved: T;
		try {
			saved = await update(object, changes);
		} catch (error) {
			if (!(error instanceof PreconditionFailedError)) throw error;
			const theirs = await read();
			const [now, before] = [fields(theirs), fields(object)];
			const isSame = (name: string) => shown(fieldOf(now, name)) === shown(fieldOf(before, name));
			// Only other things about it have changed, such as its state.
			if (Object.keys(changes).every(isSame)) return saveOver(theirs, changes);
			setClash({ theirs, changes });
			return false;
		}
		await onSaved(saved);
		return true;
	}

	/** Saves changes of an object that is newer than what the form shows. */
	async function saveOver(theirs: T, changes: Changes) {
		const isSaved = await save(theirs, changes);
		if (isSaved) setVersion((version) => version + 1);
		return isSaved;
	}

	const theirs = clash ? fields(clash.theirs) : {};
	const rows = clash
		? Object.keys(clash.changes).filter(
				(name) => shown(fieldOf(theirs, name)) !== shown(fieldOf(clash.changes, name)),
			)
		: [];
	const labelOf = (name: string) => shown(fieldOf(labels, name) ?? name);
	const dialog: ComponentChildren = clash && (
		<Dialog title="Somebody else changed this" onClose={() => isBusy || setClash(undefined)}>
			<p>
				It was changed after you opened this page. Nothing of yours is saved yet. Choose which
				version stays.
			</p>
			{/* biome-ignore-start lint/a11y/noRedundantRoles: below each other, the elements would lose their roles */}
			<table role="table" class="versions">
				<thead role="rowgroup">
					<tr role="row">
						<th role="columnheader" scope="col">
							Field
						</th>
						<th role="columnheader" scope="col">
							{YOURS}
						</th>
						<th role="columnheader" scope="col">
							{SAVED}
						</th>
					</tr>
				</thead>
				<tbody role="rowgroup">
					{rows.map((name) => (
						<tr key={name} role="row">
							<th role="rowheader" scope="row">
								{labelOf(name)}
							</th>
							<td role="cell" data-title={YOURS}>
								<Value>{shown(fieldOf(clash.changes, name))}</Value>
							</td>
							<td role="cell" data-title={SAVED}>
								<Value>{shown(fieldOf(theirs, name))}</Value>
							</td>
						</tr>
					))}
				</tbody>
			</table>
			{/* biome-ignore-end lint/a11y/noRedundantRoles: as above */}
			{rows.length === 0 && <p>Both versions have the same values here.</p>}
			<div class="buttons">
				<button
					type="button"
					class="secondary outline"
					aria-disabled={isBusy}
					onClick={() =>
						run(async () => {
							await onSaved(clash.theirs);
							setClash(undefined);
							setVersion((version) => version + 1);
						})
					}
				>
					Take the saved version
				</button>
				<Button
					onPress={() =>
						run(async () => {
							// If not, the dialog has a version that is newer still.
							if (!(await saveOver(clash.theirs, clash.changes))) return;
							setClash(undefined);
							say("Your version is saved.");
						})
					}
				>
					Save your version
				</Button>
			</div>
		</Dialog>
	);
	return { save, dialog, version };
}
