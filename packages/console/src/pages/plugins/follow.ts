import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { PluginLogEntry } from "tenantry-client";
import { api } from "../../session.ts";

/** The intervals of requests for new entries, for busy and for quiet logs. */
const BUSY_MS = 1500;
const QUIET_MS = 8000;

/** A log counts as busy for this long after a new entry or the start of a job. */
const BUSY_FOR_MS = 60_000;

/**
 * Requests for new entries overlap by this much. The entries of a job have the times at which it
 * wrote them, but appear when it ends, at most ten seconds later. So new entries can be older than
 * known ones.
 */
const OVERLAP_MS = 30_000;

const PAGE = 200;

/** The maximum number of entries on the page. */
const MAX_ENTRIES = 5000;

export type LogFilters = {
	search: string | undefined;
	type_filter: PluginLogEntry["type"][] | undefined;
	/** The age of the oldest entries, in milliseconds. */
	period: number | undefined;
};

const inOrder = (a: PluginLogEntry, b: PluginLogEntry) =>
	a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : a.id < b.id ? -1 : 1;

/** Merges two lists without duplicates, oldest first. */
const merged = (known: PluginLogEntry[], read: PluginLogEntry[]) =>
	[...new Map([...known, ...read].map((entry) => [entry.id, entry])).values()]
		.sort(inOrder)
		.slice(-MAX_ENTRIES);

const ago = (ms: number, from = Date.now()) => new Date(from - ms).toISOString();

/** Waits for this time, or until the event `wake`. */
const pause = (ms: number, wake: EventTarget, signal: AbortSignal) =>
	new Promise<void>((resolve) => {
		const end = () => {
			clearTimeout(timer);
			resolve();
		};
		const timer = setTimeout(end, ms);
		wake.addEventListener("wake", end, { once: true, signal });
		signal.addEventListener("abort", end, { once: true });
	});

/** Waits until the tab is visible. */
const seen = (signal: AbortSignal) =>
	new Promise<void>((resolve) => {
		if (!document.hidden || signal.aborted) return resolve();
		document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
		signal.addEventListener("abort", () => resolve(), { once: true });
	});

type State = {
	entries: PluginLogEntry[] | undefined;
	count: number;
	error: unknown;
	/** Whether the request had filters. */
	isFiltered: boolean;
};
const NOTHING: State = { entries: undefined, count: 0, error: undefined, isFiltered: false };

/** Repeats some work while `isOn` is true, and starts again when one of `inputs` changes. */
function useRepeated(
	isOn: boolean,
	inputs: readonly unknown[],
	work: (signal: AbortSignal) => Promise<void>,
) {
	useEffect(() => {
		if (!isOn) return;
		const controller = new AbortController();
		const { signal } = controller;
		async function repeat() {
			while (!signal.aborted) await work(signal);
		}
		repeat();
		return () => controller.abort();
	}, [...inputs, isOn]);
}

/**
 * Loads the log of a config, oldest entry first, then only new entries, and nothing while the tab
 * is hidden.
 */
export function useLog(
	{ project, id }: { project: string; id: string },
	{ search, type_filter, period }: LogFilters,
) {
	const [state, setState] = useState(NOTHING);
	const [isFollowing, setFollowing] = useState(true);
	const known = useRef<PluginLogEntry[]>([]);
	const wake = useRef(new EventTarget());
	const busyUntil = useRef(0);
	const inputs = [project, id, search, type_filter?.join(","), period];

	/** Loads a page of entries, and their total number. */
	async function read(query: { after?: string; offset?: number }, signal?: AbortSignal) {
		const after = query.after ?? (period ? ago(period) : undefined);
		const where = { id, search, type_filter, limit: PAGE, ...query, after };
		// Load more pages until an entry is already known.
		for await (const { results, count } of api.pluginConfigs
			.listLogs({ project: Number(project), ...where }, { signal })
			.pages()) {
			if (signal?.aborted) return;
			const ids = new Set(known.current.map(({ id }) => id));
			const fresh = results.filter(({ id }) => !ids.has(id));
			if (fresh.length > 0) busyUntil.current = Date.now() + BUSY_FOR_MS;
			known.current = merged(known.current, results);
			const entries = known.current;
			setState((state) => ({
				entries,
				count: query.after ? Math.max(state.count + fresh.length, entries.length) : count,
				error: undefined,
				isFiltered: Boolean(search || type_filter?.length || period),
			}));
			if (!query.after || fresh.length < results.length) return;
		}
	}

	useEffect(() => {
		const controller = new AbortController();
		const { signal } = controller;
		known.current = [];
		setState(NOTHING);
		read({}, signal).catch((error: unknown) => {
			if (!signal.aborted) setState({ ...NOTHING, error });
		});
		return () => controller.abort();
	}, inputs);

	useRepeated(isFollowing && state.entries !== undefined, inputs, async (signal) => {
		const isBusy = Date.now() < busyUntil.current;
		await pause(isBusy ? BUSY_MS : QUIET_MS, wake.current, signal);
		await seen(signal);
		if (signal.aborted) return;
		const newest = known.current.at(-1)?.timestamp;
		const after = newest ? ago(OVERLAP_MS, Date.parse(newest)) : undefined;
		await read(after ? { after } : {}, signal).catch((error: unknown) => {
			if (!signal.aborted) setState((state) => ({ ...state, error }));
		});
	});

	/** Loads new entries immediately, then more often for a while. */
	const expect = useCallback(() => {
		busyUntil.current = Date.now() + BUSY_FOR_MS;
		wake.current.dispatchEvent(new Event("wake"));
	}, []);

	return {
		...state,
		/** Whether there are older entries. */
		hasOlder: state.count > (state.entries?.length ?? 0),
		readOlder: () => read({ offset: known.current.length }),
		isFollowing,
		setFollowing,
		expect,
	};
}
