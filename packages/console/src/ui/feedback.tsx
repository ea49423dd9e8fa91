import { signal } from "@preact/signals";
import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { TenantryError } from "tenantry-client";
import type { Loaded } from "../load.ts";
import { Icon } from "./icon.tsx";

type Note = { id: number; text: string; isError: boolean; undo?: Undo | undefined };

/** Reverses what a note is about, and returns the address of the page that shows it. */
type Undo = () => Promise<string>;

const notes = signal<Note[]>([]);
let lastId = 0;

/** How long notes and errors, and notes with a button, are shown. */
const NOTE_MS = 8000;
const ERROR_MS = 20_000;

function show(text: string, isError: boolean, undo?: Undo) {
	lastId += 1;
	const note = { id: lastId, text, isError, undo };
	notes.value = [...notes.value, note];
	setTimeout(() => remove(note), isError || undo ? ERROR_MS : NOTE_MS);
}

function remove(note: Note) {
	notes.value = notes.value.filter(({ id }) => id !== note.id);
}

/**
 * Shows a note about a success. Screen readers announce it.
 * @param undo what its button “Undo” does
 */
export const say = (text: string, undo?: Undo) => show(text, false, undo);

/** Shows a note about a problem that isn't an error of a call. */
export const warn = (text: string) => show(text, true);

/** Returns the message of a 429 for people. Its detail says how long to wait. */
function wordsOfLimit(detail: string) {
	const [, seconds] = /available in (\d+) second/.exec(detail) ?? [];
	return seconds === undefined ? detail : `Too many requests. Try again in ${seconds} seconds.`;
}

/** Returns the message of an error, with the id of the request for internal errors. */
export function wordsOf(error: unknown) {
	if (!(error instanceof TenantryError))
		return error instanceof Error ? error.message : String(error);
	if (error.status === 0) return "Can't reach the service. Check your connection.";
	const { status, detail, requestId } = error;
	if (status === 429) return wordsOfLimit(detail);
	return status >= 500 && requestId ? `${detail} (request ${requestId})` : detail;
}

/** The message of an error. If it says how long to wait, it counts down. */
export function Words({ text }: { text: string }) {
	const [start] = useState(Date.now);
	const [now, setNow] = useState(start);
	const [words = "", seconds] = /^(.*)Try again in (\d+) seconds\.$/s.exec(text)?.slice(1) ?? [];
	const left = Math.ceil(Number(seconds) - (now - start) / 1000);
	useEffect(() => {
		if (!(left > 0)) return;
		const timer = setTimeout(() => setNow(Date.now()), 1000);
		return () => clearTimeout(timer);
	}, [left]);
	if (seconds === undefined) return <>{text}</>;
	// Screen readers would announce each second.
	return (
		<span aria-live="off">
			{words}
			{left > 0 ? `Try again in ${left} ${left === 1 ? "second" : "seconds"}.` : "Try again now."}
		</span>
	);
}

/** Runs an action, and shows its error as a note. Returns whether it succeeded. */
export async function attempt(work: () => unknown) {
	try {
		await work();
		return true;
	} catch (error) {
		show(wordsOf(error), true);
		return false;
	}
}

/**
 * Runs an action for one row after another. If some fail, the others are still done.
 * @throws {Error} which names those that failed; the error itself if there is only one row
 */
export async function forEachRow<T>(
	rows: readonly T[],
	nameOf: (row: T) => string,
	work: (row: T) => Promise<unknown>,
) {
	const failed: string[] = [];
	for (const row of rows)
		await work(row).catch((error: unknown) => {
			if (rows.length === 1) throw error;
			failed.push(`${nameOf(row)}: ${wordsOf(error)}`);
		});
	if (failed.length > 0)
		throw new Error(`${failed.length} of ${rows.length} failed. ${failed.join(" ")}`);
}

/** The ids of open dialogs, topmost last. */
export const dialogs = signal<readonly string[]>([]);

function UndoButton({ note, undo }: { note: Note; undo: Undo }) {
	const { route } = useLocation();
	const press = () => {
		remove(note);
		attempt(async () => route(await undo()));
	};
	return (
		<button type="button" class="link" onClick={press}>
			Undo
		</button>
	);
}

/**
 * Shows the notes of `say`, `warn` and `attempt`. The app and each dialog have one, and only the
 * topmost shows the notes, because users and screen readers can't access elements below a dialog.
 * @param dialog the id of the dialog around it
 */
export const Notes = ({ dialog }: { dialog?: string }) => (
	<div class="notes" role="status">
		{dialogs.value.at(-1) === dialog &&
			notes.value.map((note) => (
				<div key={note.id} class={note.isError ? "note bad" : "note"}>
					<span>
						<Words text={note.text} />
					</span>
					{note.undo && <UndoButton note={note} undo={note.undo} />}
					<button type="button" class="plain" aria-label="Dismiss" onClick={() => remove(note)}>
						<Icon of={X} />
					</button>
				</div>
			))}
	</div>
);

export const Problem = ({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) => (
	<div class="problem" role="alert">
		<p>
			<Words key={wordsOf(error)} text={wordsOf(error)} />
		</p>
		{retry && (
			<button type="button" class="secondary" onClick={retry}>
				Try again
			</button>
		)}
	</div>
);

export const Loading = () => (
	<p class="loading" role="status" aria-busy="true">
		Loading…
	</p>
);

/**
 * Shows loaded data; until then, that it is loading or its error. An error of a refresh is above
 * the data.
 */
export function Show<T>({
	of,
	children,
}: {
	of: Loaded<T>;
	children: (data: T) => ComponentChildren;
}) {
	if (of.data !== undefined)
		return (
			<>
				{of.error && <Problem error={of.error} retry={of.reload} />}
				{children(of.data)}
			</>
		);
	if (of.error) return <Problem error={of.error} retry={of.reload} />;
	return <Loading />;
}

/** The text of an empty list: what it will contain, and what to do next. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
	<div class="empty">
		<p class="empty-title">{title}</p>
		<div>{children}</div>
	</div>
);
