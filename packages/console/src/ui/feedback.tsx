import { signal } from "@preact/signals";
import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { TenantryError } from "tenantry-client";
import type { Loaded } from "../load.ts";
import { Icon } from "./icon.tsx";

type Note = { id: number; text: string; isError: boolean };

const notes = signal<Note[]>([]);
let lastId = 0;

/** How long a note stays, in milliseconds. What went wrong takes longer to read. */
const NOTE_MS = 8000;
const ERROR_MS = 20_000;

function show(text: string, isError: boolean) {
	lastId += 1;
	const note = { id: lastId, text, isError };
	notes.value = [...notes.value, note];
	setTimeout(() => remove(note), isError ? ERROR_MS : NOTE_MS);
}

function remove(note: Note) {
	notes.value = notes.value.filter(({ id }) => id !== note.id);
}

/** Says below the page that something was done. Screen readers read it out. */
export const say = (text: string) => show(text, false);

/** Says below the page what went wrong, where that isn't an error of a call. */
export const warn = (text: string) => show(text, true);

/** What an error says to people, with the id of the request if an operator needs it. */
export function wordsOf(error: unknown) {
	if (!(error instanceof TenantryError))
		return error instanceof Error ? error.message : String(error);
	if (error.status === 0) return "The service can't be reached. Check your connection.";
	return error.status >= 500 ? `${error.detail} (request ${error.requestId})` : error.detail;
}

/** Runs what a button does. What fails is said below the page. */
export async function attempt(work: () => Promise<unknown>) {
	try {
		await work();
		return true;
	} catch (error) {
		show(wordsOf(error), true);
		return false;
	}
}

/** The ids of the dialogs that are open, the one on top last. */
export const dialogs = signal<readonly string[]>([]);

/**
 * Where `say` and `attempt` show their notes. The shell and each dialog have one, and the one on top shows them: what is
 * below a dialog can neither be reached nor is it read out.
 * @param dialog the id of the dialog that it is in
 */
export const Notes = ({ dialog }: { dialog?: string }) => (
	<div class="notes" role="status">
		{dialogs.value.at(-1) === dialog &&
			notes.value.map((note) => (
				<div key={note.id} class={note.isError ? "note bad" : "note"}>
					<span>{note.text}</span>
					<button type="button" class="plain" aria-label="Dismiss" onClick={() => remove(note)}>
						<Icon of={X} />
					</button>
				</div>
			))}
	</div>
);

export const Problem = ({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) => (
	<div class="problem" role="alert">
		<p>{wordsOf(error)}</p>
		{retry && (
			<button type="button" class="secondary" onClick={retry}>
				Try again
			</button>
		)}
	</div>
);

/** Shows what was loaded; until then that it is loading, or why it couldn't be. */
export function Show<T>({
	of,
	children,
}: {
	of: Loaded<T>;
	children: (data: T) => ComponentChildren;
}) {
	if (of.data !== undefined) return <>{children(of.data)}</>;
	if (of.error) return <Problem error={of.error} retry={of.reload} />;
	return (
		<p class="loading" role="status" aria-busy="true">
			Loading…
		</p>
	);
}

/** What a list shows when it has nothing: what belongs there, and what to do next. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
	<div class="empty">
		<p class="empty-title">{title}</p>
		{children}
	</div>
);
