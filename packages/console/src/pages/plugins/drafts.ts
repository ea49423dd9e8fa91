/**
 * Unsaved changes of source, by plugin. They are kept until the tab is closed, so that users can
 * visit other pages.
 */
import { useEffect, useState } from "preact/hooks";
import type { Plugin } from "tenantry-client";

/** Texts by filename; null deletes the file. */
export type Changes = Record<string, string | null>;

const kept = new Map<number, Changes>();

/** Returns the changes that differ from the saved files. */
const changesOf = (files: Record<string, string>, draft: Changes): Changes =>
	Object.fromEntries(
		Object.entries(draft).filter(([name, text]) => text !== (files[name] ?? null)),
	);

/**
 * Returns the unsaved changes of a plugin's files.
 * @param saved the files that the page loaded
 * @param start the initial changes
 */
export function useDrafts(id: number, saved: Record<string, string>, start: Changes) {
	const [draft, setDraft] = useState<Changes>(() => kept.get(id) ?? start);
	const changes = changesOf(saved, draft);
	const isChanged = Object.keys(changes).length > 0;
	/** Whether closing the tab would lose changes of the user. The initial changes appear again. */
	const isEdited = isChanged && JSON.stringify(changes) !== JSON.stringify(start);
	useEffect(() => {
		kept.set(id, draft);
	}, [id, draft]);
	useEffect(() => {
		if (!isEdited) return;
		const ask = (event: BeforeUnloadEvent) => event.preventDefault();
		addEventListener("beforeunload", ask);
		return () => removeEventListener("beforeunload", ask);
	}, [isEdited]);
	const files = Object.fromEntries(
		Object.entries({ ...saved, ...draft }).filter(
			(file): file is [string, string] => file[1] !== null,
		),
	);
	return {
		/** The files including the changes. */
		files,
		changes,
		isChanged,
		write: (name: string, text: string | null) => setDraft((draft) => ({ ...draft, [name]: text })),
		/** Discards changes, for example after they are saved. Newer changes stay. */
		discard: (dropped: Changes) =>
			setDraft((draft) =>
				Object.fromEntries(Object.entries(draft).filter(([name, text]) => text !== dropped[name])),
			),
	};
}

const manifestOf = (name: string) => `${JSON.stringify({ name, config: [] }, null, "\t")}\n`;

const JOBS = `
/** Jobs that can be started manually, with their payload. */
export const jobs = {
	hello: async (payload, meta) => {
		console.log("Hello", payload.name ?? "world");
	},
};
`;

const DESTINATION = `/** Called for each event. */
export async function onEvent(event, meta) {
	console.log(event.event);
}
${JOBS}`;

const IMPORT = `/** Runs every hour, for each project where the plugin is enabled. */
export async function runEveryHour(meta) {
	console.log("It is", new Date().toISOString());
}
${JOBS}`;

const FRONTEND = `/** Runs in the browser. */
export const scene = { title: "Hello" };
`;

export function starter({ name, capabilities }: Plugin): Changes {
	const { methods = [], scheduled_tasks = [] } = capabilities;
	const manifest = { "plugin.json": manifestOf(name) };
	if (methods.length > 0) return { "index.ts": DESTINATION, ...manifest };
	if (scheduled_tasks.length > 0) return { "index.ts": IMPORT, ...manifest };
	return { "frontend.tsx": FRONTEND, ...manifest };
}
