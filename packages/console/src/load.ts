import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { type Page, type Pages, TenantryError } from "tenantry-client";
import { keepPosition } from "./scroll.ts";

export type Loaded<T> = {
	/** Undefined until it is loaded. During a reload, the previous data. */
	data: T | undefined;
	/** The error of the last load; undefined if it succeeded. */
	error: TenantryError | Error | undefined;
	isLoading: boolean;
	/**
	 * Loads again, for example after a change. Resolves to the data; undefined after an error or if
	 * the page was left.
	 */
	reload: () => Promise<T | undefined>;
	/**
	 * Loads again in the background, unless it is already loading. If the service can't be reached
	 * for a moment, the previous data stays.
	 */
	refresh: () => void;
	/**
	 * Replaces the data until the next load. Don't use it for objects of `useSave`, because only
	 * loaded objects have ETags.
	 */
	replace: (data: T) => void;
	/**
	 * Changes a part of the data. The function gets the current data, which may include other
	 * changes.
	 */
	change: (changed: (data: T) => T) => void;
};

/** The functions of loaded data that load it again. */
export type Reloading<T = unknown> = Pick<Loaded<T>, "reload" | "refresh">;

const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/** Whether the same load may succeed later. */
const isTemporary = (error: unknown) =>
	error instanceof TenantryError &&
	(error.status === 0 || error.status === 429 || error.status >= 500);

/** The functions that start a load, and what they leave for it. */
function useTurns<T>() {
	const [turn, setTurn] = useState(0);
	/** The load in progress. */
	const running = useRef<AbortController | undefined>(undefined);
	/** Whether the next load is in the background. */
	const isRefresh = useRef(false);
	/** The `resolve` functions of waiting reloads; undefined after the page was left. */
	const reloads = useRef<((data?: T) => void)[] | undefined>([]);
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
	const refresh = useCallback(() => {
		if (running.current) return;
		isRefresh.current = true;
		setTurn((turn) => turn + 1);
	}, []);
	return { turn, running, isRefresh, reloads, reload, refresh };
}

/**
 * Loads the data of a page, and again when one of `inputs` changes.
 * @param inputs the values that `load` depends on
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
	/** The inputs of the last load. If a render changes the inputs, they are loaded after it. */
	const asked = useRef(inputs);
	const { turn, running, isRefresh, reloads, reload, refresh } = useTurns<T>();
	const isAsked = inputs.every((input, i) => Object.is(input, asked.current[i]));
	useEffect(() => {
		const isSame = inputs.every((input, i) => Object.is(input, asked.current[i]));
		asked.current = inputs;
		const controller = new AbortController();
		running.current = controller;
		const ends = reloads.current?.splice(0) ?? [];
		const keepsData = isRefresh.current && isSame && ends.length === 0;
		isRefresh.current = false;
		setState(({ data, error }) => ({
			data,
			error: keepsData && data !== undefined ? error : undefined,
			isLoading: true,
		}));
		load(controller.signal)
			.then(
				(data) => {
					if (!controller.signal.aborted) setState({ data, error: undefined, isLoading: false });
					return data;
				},
				(error: unknown) => {
					if (controller.signal.aborted || isAbort(error)) return undefined;
					const cause = error instanceof Error ? error : new Error(String(error));
					const keeps = keepsData && isTemporary(error);
					setState(({ data }) => ({
						data: keeps ? data : undefined,
						error: cause,
						isLoading: false,
					}));
					return undefined;
				},
			)
			.then((data) => {
				if (running.current === controller) running.current = undefined;
				for (const end of ends) end(data);
			});
		return () => {
			controller.abort();
			// The load that replaces this one resolves them.
			reloads.current?.push(...ends.splice(0));
		};
	}, [...inputs, turn]);
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
	return { ...state, isLoading: state.isLoading || !isAsked, reload, refresh, replace, change };
}

/** Whether a page is still open. The user may have left it during a request. */
const isOpen = (path: string) => (location.pathname.replace(/(?<!\/)\/+$/, "") || "/") === path;

/** Returns a function that opens another page, unless the user has left the current one. */
export function useNavigate() {
	const { path, route } = useLocation();
	return (url: string, isReplaced = false) => {
		if (isOpen(path)) route(url, isReplaced);
	};
}

/** Changes of the query string. `undefined` and `""` remove a parameter. */
type Changes = Record<string, string | undefined>;

/**
 * Returns the query string of the page, and a function that changes it. It contains filters and the
 * offsets of lists, so that users can share links.
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

export const NOTHING = { count: 0, next: null, previous: null, results: [] };

/** Returns a page of a list; an empty page if the user isn't allowed to read it. */
export async function readable<T>(page: PromiseLike<Page<T>>): Promise<Page<T>> {
	try {
		return await page;
	} catch (error) {
		if (error instanceof TenantryError && error.status === 403) return NOTHING;
		throw error;
	}
}

/** Whether a text contains another one, ignoring case. */
export const has = (text: string, search: string) =>
	text.toLowerCase().includes(search.trim().toLowerCase());

type Range = { limit: number; offset: number };

/** The largest page of the API. */
export const MAX_ROWS = 1000;

/**
 * Returns a page of the rows that `matches` accepts, sorted by `compare`. For filters and orders that
 * the API doesn't have: all rows are loaded.
 * @param matches undefined without filters; without `compare` either, only the page is loaded
 */
export async function filtered<T>(
	list: (range: Range) => Pages<T>,
	page: Range,
	matches: ((row: T) => boolean) | undefined,
	compare?: ((a: T, b: T) => number) | undefined,
): Promise<Page<T>> {
	if (!matches && !compare) return list(page);
	const found: T[] = [];
	for await (const row of list({ limit: MAX_ROWS, offset: 0 }))
		if (matches?.(row) ?? true) found.push(row);
	if (compare) found.sort(compare);
	return {
		count: found.length,
		next: found.length > page.offset + page.limit ? "" : null,
		previous: null,
		results: found.slice(page.offset, page.offset + page.limit),
	};
}

export const listOf = <T>(rows: T[]): List<T> => ({
	data: { count: rows.length, next: null, previous: null, results: rows },
	error: undefined,
	isLoading: false,
	reload: () => {},
	refresh: () => {},
	offset: 0,
	limit: rows.length,
	parameter: undefined,
});

/** The page size. On a phone, where each row is a card, a page would otherwise be 12,000 px long. */
const rowsOnPage = () => (matchMedia("(max-width: 45rem)").matches ? 20 : 50);

export type List<T> = Omit<Loaded<Page<T>>, "reload" | "replace" | "change"> & {
	reload: () => void;
	/** The index of the first row. While another page is loading, the index of the previous page. */
	offset: number;
	/** The page size. */
	limit: number;
	/** The URL parameter of the offset; undefined if all rows are shown. */
	parameter: string | undefined;
};

/**
 * Loads the page of a list at the offset in the URL.
 * @param load gets `limit` and `offset` for the call
 * @param inputs the other values that `load` depends on, such as filters
 * @param parameter the URL parameter of the offset, if the page has several lists
 */
export function useList<T>(
	load: (page: Range, signal: AbortSignal) => PromiseLike<Page<T>>,
	inputs: readonly unknown[],
	{ parameter = "offset", limit = rowsOnPage() } = {},
): List<T> {
	const [query] = useQuery();
	const offset = Math.max(0, Number.parseInt(query[parameter] ?? "0", 10) || 0);
	const { data, ...loaded } = useLoad(
		async (signal) => ({ page: await load({ limit, offset }, signal), offset }),
		[...inputs, offset],
	);
	return { ...loaded, data: data?.page, offset: data?.offset ?? offset, limit, parameter };
}
