/** Types that the generated types use. */

/** One of the known values, or any other string. */
export type Alias<Known extends string> = Known | (string & Record<never, never>);

/** A page of a list. */
export interface Page<Item> {
	/** The number of results on all pages. */
	count: number;
	/** The URL of the next page; null on the last page. */
	next: string | null;
	/** The URL of the previous page; null on the first page. */
	previous: string | null;
	/** The results of this page. */
	results: Item[];
}

/** A list. `await` returns its first page, `for await` iterates over all items. */
export interface Pages<Item, First = Page<Item>> extends PromiseLike<First>, AsyncIterable<Item> {
	/** Iterates over the pages. */
	pages(): AsyncIterable<First>;
}

/** Options of one call. */
export interface RequestOptions {
	/** Aborts the call, also while it waits for a retry. */
	signal?: AbortSignal | undefined;
	/** The time limit of one attempt, in milliseconds. Default: 60,000. */
	timeout?: number | undefined;
	/** The time limit of all attempts together, in milliseconds. Default: 300,000. */
	callTimeout?: number | undefined;
	/**
	 * The longest delay before another attempt, in milliseconds. A longer `Retry-After` ends the
	 * call. Default: no limit.
	 */
	maxDelay?: number | undefined;
	/** The maximum number of attempts. Default: 5. */
	maxAttempts?: number | undefined;
	/**
	 * The `Idempotency-Key` of a POST. By default, it is random and the same for all attempts of a
	 * call.
	 */
	idempotencyKey?: string | undefined;
	/**
	 * The ETag that the object must still have, or `null` to update the object regardless. By
	 * default, a PATCH of an object that this client got from `get` sends the object's ETag.
	 */
	ifMatch?: string | null | undefined;
	/** Asks for the signed receipt of a revocation, which the call then returns. */
	receipt?: boolean | undefined;
	/** Additional headers. */
	headers?: Record<string, string> | undefined;
}

/** The outcome of one attempt, without ids, values and secrets. */
export interface LogEntry {
	/** The method of the client, such as `members.list`. */
	call: string;
	/** The method and path, such as `GET /api/organizations/{organization}/members`. */
	route: string;
	/** The number of the attempt, from 1. */
	attempt: number;
	/** The status of the response; undefined if there is none. */
	status?: number;
	/** The `X-Request-Id` of the response, for questions to the operator of the service. */
	requestId?: string | undefined;
	/** The reason why there is no response. */
	error?: string;
	/** The duration of the attempt in milliseconds. */
	duration: number;
	/** The delay before the next attempt in milliseconds; undefined after the last one. */
	retryIn?: number | undefined;
}

/** Options of a client. */
export interface Options
	extends Pick<RequestOptions, "timeout" | "callTimeout" | "maxDelay" | "maxAttempts"> {
	/** The URL of the service, such as `https://tenantry.example.com`. */
	baseUrl: string;
	/**
	 * An API key. Operations that don't require a key, such as accepting an invite, work without it.
	 */
	key?: string | undefined;
	/** The version of the API. By default, the version that this client's types describe. */
	version?: string | undefined;
	/** Used instead of the global `fetch`. */
	fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
	/** Called after each attempt. */
	log?: ((entry: LogEntry) => void) | undefined;
	/** Additional headers of each request. */
	headers?: Record<string, string> | undefined;
}
