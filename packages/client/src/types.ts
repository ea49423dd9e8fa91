/** Types that the generated ones are made of. */

/** One of a few known values, or any other text. */
export type Alias<Known extends string> = Known | (string & Record<never, never>);

declare const origin: unique symbol;

/** An object that came from this client: it knows where it belongs, so it can stand for parameters. */
export interface From<Name extends string> {
	/** Only for the compiler; the object has no such field. */
	readonly [origin]: Name;
}

/** An object in a response. */
export type Received<T, Name extends string> = T & From<Name>;

/** A part of a list. */
export interface Page<Item> {
	/** How many results there are on all pages. */
	count: number;
	/** The URL of the next page; null on the last. */
	next: string | null;
	/** The URL of the previous page; null on the first. */
	previous: string | null;
	/** The results of this page. */
	results: Item[];
}

/**
 * A list that is read when it is used: `await` gives its first page, `for await` all its items.
 */
export interface Pages<Item, First = Page<Item>> extends PromiseLike<First>, AsyncIterable<Item> {
	/** The pages one after the other. */
	pages(): AsyncIterable<First>;
}

/** How one call is made. */
export interface RequestOptions {
	/** Aborts the call, also while it waits to try again. */
	signal?: AbortSignal | undefined;
	/** After how many milliseconds a single try is given up. */
	timeout?: number | undefined;
	/** After how many milliseconds the call is given up, with all its tries. */
	callTimeout?: number | undefined;
	/** How often a request is tried, at most. */
	tries?: number | undefined;
	/** Of a POST. By default each call has a random one, the same for all its tries. */
	idempotencyKey?: string | undefined;
	/**
	 * The ETag that the object must still have, or `null` to change it whatever it has become. By
	 * default a PATCH of an object that came from this client sends the ETag that it came with.
	 */
	ifMatch?: string | null | undefined;
	/** More headers. */
	headers?: Record<string, string> | undefined;
}

/** What happened in one try. It has no ids, no values and no secrets. */
export interface LogEntry {
	/** Such as `members.list`. */
	call: string;
	/** Such as `GET /api/organizations/{organization}/members`. */
	route: string;
	/** Counts from 1. */
	attempt: number;
	/** Of the response; undefined if there was none. */
	status?: number;
	/** Of the response, for questions to whoever runs the service. */
	requestId?: string | undefined;
	/** Why there was no response. */
	error?: string;
	/** How long the try took, in milliseconds. */
	duration: number;
	/** After how many milliseconds it is tried again; undefined if it isn't. */
	retryIn?: number | undefined;
}

/** How a client makes its calls. */
export interface Options extends Pick<RequestOptions, "timeout" | "callTimeout" | "tries"> {
	/** Where the service is, such as `https://tenantry.example.com`. */
	baseUrl: string;
	/** A personal API key. Only invites and the service's own card need none. */
	key?: string | undefined;
	/** The version of the API. By default the one that this client's types describe. */
	version?: string | undefined;
	/** Used instead of the global `fetch`. */
	fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
	/** Called after each try. */
	log?: ((entry: LogEntry) => void) | undefined;
	/** More headers for each request. */
	headers?: Record<string, string> | undefined;
}
