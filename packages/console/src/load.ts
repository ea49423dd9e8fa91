import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import type { Page, TenantryError } from "tenantry-client";
import { keepPosition } from "./scroll.ts";

export type Loaded<T> = {
	/** Undefined until it is loaded. While it is loaded again, what was there before. */
	data: T | undefined;
	/** Why the last load failed; undefined if it didn't. */
	error: TenantryError | Error | undefined;
	isLoading: boolean;
	/** Loads again, such as after a change. Resolves to what was loaded; undefined if that failed or the page was left. */
	reload: () => Promise<T | undefined>;
	/** Shows this until the next load. Not for what `useSave` saves: only what is loaded has the ETag for the next change. */
	replace: (data: T) => void;
	/** The same for a part of it: gets what is shown by then, which other changes may have changed, too. */
	change: (changed: (data: T) => T) => void;
};

const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/**
 * Loads what a page shows, and again whenever one of `inputs` changes.
 * @param inputs what `load` depends on; compared one by one
 */
export function useLoad<T>(
	load: (signal: AbortSignal) => PromiseLike<T>,
	inputs: readonly unknown[],
): Loaded<T> {
	const [state, setState] = useState<Pick<Loaded<T>, "data" | "error" | "isLoading">>({
		data: undefined,
		error: undefined,
		isLoading: true,
	});
	const [turn, setTurn] = useState(0);
	/** The inputs of the last load. Those that a render has just changed are loaded after it. */
	const asked = useRef(inputs);
	const isAsked = inputs.every((input, i) => Object.is(input, asked.current[i]));
	/** What resolves the reloads that no load has ended yet; undefined once the page is left. */
	const reloads = useRef<((data?: T) => void)[] | undefined>([]);
	useEffect(() => {
		asked.current = inputs;
		const controller = new AbortController();
		const ends = reloads.current?.splice(0) ?? [];
		setState(({ data }) => ({ data, error: undefined, isLoading: true }));
		load(controller.signal)
			.then(
				(data) => {
					if (!controller.signal.aborted) setState({ data, error: undefined, isLoading: false });
					return data;
				},
				(error: unknown) => {
					if (controller.signal.aborted || isAbort(error)) return undefined;
					const cause = error instanceof Error ? error : new Error(String(error));
					setState({ data: undefined, error: cause, isLoading: false });
					return undefined;
				},
			)
			.then((data) => {
				for (const end of ends) end(data);
			});
		return () => {
			controller.abort();
			// The load that replaces this one ends them.
			reloads.current?.push(...ends.splice(0));
		};
	}, [...inputs, turn]);
	useEffect(
		() => () => {
			for (const end of reloads.current ?? []) end();
			reloads.current = undefined;
		},
		[],
	);
	const reload = useCallback(
		() =>
			new Promise<T | undefined>((resolve) => {
				if (!reloads.current) return resolve(undefined);
				reloads.current.push(resolve);
				setTurn((turn) => turn + 1);
			}),
		[],
	);
	const replace = useCallback(
		(data: T) => setState({ data, error: undefined, isLoading: false }),
		[],
	);
	const change = useCallback(
		(changed: (data: T) => T) =>
			setState((state) =>
				state.data === undefined ? state : { ...state, data: changed(state.data) },
			),
		[],
	);
	return { ...state, isLoading: state.isLoading || !isAsked, reload, replace, change };
}

/** Whether a page is open still: somebody may have left it while something took its time. */
const isOpen = (path: string) => (location.pathname.replace(/\/+$/, "") || "/") === path;

/** A function that opens another page, unless the user has gone elsewhere since this one called it. */
export function useNavigate() {
	const { path, route } = useLocation();
	return (url: string, isReplaced = false) => {
		if (isOpen(path)) route(url, isReplaced);
	};
}

/** Changes of the page's query: `undefined` and `""` remove a parameter. */
type Changes = Record<string, string | undefined>;

/**
 * The query of the page's URL, and a function that changes it. Filters and places in lists are kept
 * there, so that a link leads to what its sender saw.
 */
export function useQuery() {
	const { path, query, route } = useLocation();
	const change = (changes: Changes) => {
		if (!isOpen(path)) return;
		const next = new URLSearchParams(location.search);
		for (const [name, value] of Object.entries(changes))
			if (value) next.set(name, value);
			else next.delete(name);
		route(next.size > 0 ? `${path}?${next}` : path, true);
		keepPosition();
	};
	return [query, change] as const;
}

/** A page of rows that were found in the browser, where the API has no filter. */
export const pageOf = <T>(
	found: T[],
	{ limit, offset }: { limit: number; offset: number },
): Page<T> => ({
	count: found.length,
	next: found.length > offset + limit ? "" : null,
	previous: null,
	results: found.slice(offset, offset + limit),
});

/** How many rows a page of a list shows. */
const ROWS = 50;

export type List<T> = Omit<Loaded<Page<T>>, "reload" | "replace" | "change"> & {
	reload: () => void;
	/** The index of the first row that is shown. While another page is loaded, that of the page before. */
	offset: number;
	/** How many rows a page shows. */
	limit: number;
	/** The parameter of the URL that has the offset. */
	parameter: string;
};

/**
 * Loads a page of a list. The URL says which one.
 * @param load gets `limit` and `offset` for the client's call
 * @param inputs what else `load` depends on, such as filters
 * @param parameter the name of the offset in the URL, where a page has several lists
 */
export function useList<T>(
	load: (page: { limit: number; offset: number }, signal: AbortSignal) => PromiseLike<Page<T>>,
	inputs: readonly unknown[],
	{ parameter = "offset", limit = ROWS } = {},
): List<T> {
	const [query] = useQuery();
	const offset = Math.max(0, Number.parseInt(query[parameter] ?? "0", 10) || 0);
	const { data, ...loaded } = useLoad(
		async (signal) => ({ page: await load({ limit, offset }, signal), offset }),
		[...inputs, offset],
	);
	return { ...loaded, data: data?.page, offset: data?.offset ?? offset, limit, parameter };
}
