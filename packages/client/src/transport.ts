/** Sends requests, retries them if that is safe, and converts responses to values or errors. */
import { errorOf, TenantryError } from "./errors.ts";
import { VERSION } from "./generated.ts";
import type { LogEntry, Options, RequestOptions } from "./types.ts";

/** A request, which may take several attempts. */
export type Request = {
	/** Such as `members.list`. */
	call: string;
	verb: string;
	/** The path with parameters in braces. */
	route: string;
	/** The path with values, and the query string. */
	path: string;
	body?: unknown;
	/** Whether the service executes the request only once if it is sent twice. */
	isRepeatable: boolean;
	/** Whether to return the response without reading its body. */
	isFile?: true | undefined;
	/**
	 * Returns a result if the error shows that an earlier attempt succeeded but its response was
	 * lost.
	 */
	mayBeDone?: (error: TenantryError) => Promise<{ value: unknown } | undefined>;
};

/** The parsed body of a response, and its ETag. */
type Result = { value: unknown; etag: string | null };

const MAX_ATTEMPTS = 5;
const TIMEOUT_MS = 60_000;
const CALL_TIMEOUT_MS = 300_000;

/** The longest delay before the second attempt. It doubles with each attempt. */
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 20_000;

/**
 * Returns a delay in milliseconds. It is random, so that clients that failed together don't retry
 * together.
 */
const backoff = (attempt: number) =>
	Math.random() * Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS);

/** Returns `Retry-After` (seconds or a date) in milliseconds; 0 if it is missing or invalid. */
function retryAfter(headers: Headers) {
	const value = headers.get("retry-after");
	if (value === null) return 0;
	const seconds = Number(value);
	const wait = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
	return Math.max(wait, 0) || 0;
}

/** Added to the message of a 401 if the client has no key. */
const NO_KEY = "The client has no key: pass key to new Tenantry().";

/** Whether the service may have executed a request with this error. */
const isAmbiguous = ({ status }: TenantryError) => status === 0 || status >= 500;

/** Whether a retry is safe and can succeed. */
function canRetry(error: TenantryError, { isRepeatable }: Request) {
	if (error.status === 429 || error.code === "idempotency_key_in_use") return true;
	return isRepeatable && isAmbiguous(error);
}

const connectionError = (code: string, detail: string, cause?: unknown) =>
	new TenantryError({ type: "connection_error", code, detail, cause });

const sleep = (ms: number, signal: AbortSignal) =>
	new Promise<void>((resolve) => {
		if (signal.aborted) return resolve();
		const end = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", end);
			resolve();
		};
		const timer = setTimeout(end, ms);
		signal.addEventListener("abort", end);
	});

/** Combines the caller's signal with the time limit of the call. */
function signalsOf(signal: AbortSignal | undefined, ms: number) {
	const limit = AbortSignal.timeout(ms);
	const both = signal ? AbortSignal.any([signal, limit]) : limit;
	/** Throws if the call was aborted or took too long. */
	const check = (cause?: unknown) => {
		signal?.throwIfAborted();
		if (limit.aborted) throw connectionError("timeout", `No response in ${ms} ms.`, cause);
	};
	return { both, check };
}

/** @throws {TypeError} JavaScript programs can pass an environment variable that isn't set */
function baseOf(options?: Partial<Options>) {
	const baseUrl = options?.baseUrl ?? "";
	if (!/^https?:\/\//i.test(baseUrl))
		throw new TypeError(
			`Tenantry needs baseUrl, the URL of the service, such as https://tenantry.example.com${baseUrl && `, not "${baseUrl}"`}.`,
		);
	return baseUrl.replace(/(?<!\/)\/+$/, "");
}

export class Transport {
	readonly #options: Options;
	readonly #base: string;
	/** The newest D1 bookmark of all responses. */
	#bookmark = "";

	constructor(options: Options) {
		this.#options = options;
		this.#base = baseOf(options);
	}

	/** Sends a request, and retries it if necessary. */
	async send(request: Request, options: RequestOptions = {}): Promise<Result> {
		const maxAttempts = options.maxAttempts ?? this.#options.maxAttempts ?? MAX_ATTEMPTS;
		const ms = options.callTimeout ?? this.#options.callTimeout ?? CALL_TIMEOUT_MS;
		const deadline = Date.now() + ms;
		const maxDelay = options.maxDelay ?? this.#options.maxDelay ?? Number.POSITIVE_INFINITY;
		const { both, check } = signalsOf(options.signal, ms);
		const init = this.#init(request, options);
		let isUncertain = false;
		for (let attempt = 1; ; attempt += 1) {
			check();
			const start = Date.now();
			const entry = { call: request.call, route: `${request.verb} ${request.route}`, attempt };
			const result = await this.#attempt(request, init, options, both);
			const duration = Date.now() - start;
			if (!(result instanceof TenantryError)) {
				const { status, requestId } = result;
				this.#log({ ...entry, status, requestId, duration });
				return result;
			}
			const wait = Math.max(retryAfter(result.headers), backoff(attempt));
			const isLast =
				both.aborted ||
				attempt >= maxAttempts ||
				!canRetry(result, request) ||
				wait > maxDelay ||
				Date.now() + wait > deadline;
			this.#log({ ...entry, ...outcomeOf(result), duration, retryIn: isLast ? undefined : wait });
			if (isLast) {
				check(result.cause);
				const done = isUncertain && (await request.mayBeDone?.(result));
				if (done) return { ...done, etag: null };
				throw result;
			}
			isUncertain ||= isAmbiguous(result);
			await sleep(wait, both);
		}
	}

	/** Makes one attempt. Returns errors instead of throwing them. */
	async #attempt(
		{ path, isFile }: Request,
		init: RequestInit,
		options: RequestOptions,
		signal: AbortSignal,
	) {
		const ms = options.timeout ?? this.#options.timeout ?? TIMEOUT_MS;
		const limit = new AbortController();
		const timer = setTimeout(() => limit.abort(), ms);
		const send = this.#options.fetch ?? fetch;
		// The limits don't apply to reading a file.
		const signals = isFile ? [options.signal ?? []].flat() : [signal];
		try {
			const response = await send(this.#base + path, {
				...init,
				headers: this.#withBookmark(init.headers),
				signal: AbortSignal.any([...signals, limit.signal]),
			});
			const isRead = !isFile || !response.ok;
			const text = isRead ? await response.text() : "";
			if (!response.ok) return errorOf(response, text, this.#options.key ? "" : NO_KEY);
			this.#remember(response.headers.get("x-d1-bookmark"));
			return resultOf(response, isRead ? text : undefined);
		} catch (error) {
			return limit.signal.aborted
				? connectionError("timeout", `No response in ${ms} ms.`, error)
				: connectionError("network", error instanceof Error ? error.message : `${error}`, error);
		} finally {
			clearTimeout(timer);
		}
	}

	#init({ verb, body }: Request, options: RequestOptions): RequestInit {
		const { key, version = VERSION } = this.#options;
		const headers = new Headers({ ...this.#options.headers, ...options.headers });
		headers.set("tenantry-version", version);
		// Of several preferences for the handling, the first counts: the caller's.
		headers.append("prefer", "handling=strict");
		if (options.receipt) headers.append("prefer", "receipt");
		if (key) headers.set("authorization", `Bearer ${key}`);
		if (body !== undefined) headers.set("content-type", "application/json");
		if (options.ifMatch) headers.set("if-match", options.ifMatch);
		if (verb === "POST")
			headers.set("idempotency-key", options.idempotencyKey ?? crypto.randomUUID());
		return { method: verb, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
	}

	#withBookmark(headers: RequestInit["headers"]) {
		const sent = new Headers(headers);
		if (this.#bookmark) sent.set("x-d1-bookmark", this.#bookmark);
		return sent;
	}

	/**
	 * Stores the newest bookmark. Bookmarks sort by time, but responses of parallel requests come in
	 * any order.
	 */
	#remember(bookmark: string | null) {
		if (bookmark !== null && bookmark > this.#bookmark) this.#bookmark = bookmark;
	}

	#log(entry: LogEntry) {
		this.#options.log?.(entry);
	}
}

const outcomeOf = ({ status, requestId, code, detail }: TenantryError) =>
	status > 0 ? { status, requestId: requestId ?? undefined } : { error: `${code}: ${detail}` };

/** Returns the result of a response with this text; undefined: it wasn't read. */
function resultOf(response: Response, text: string | undefined) {
	const { status, headers } = response;
	const isJson = headers.get("content-type")?.startsWith("application/json");
	const read: unknown = text && isJson ? JSON.parse(text) : text || undefined;
	const value = text === undefined ? response : read;
	const requestId = headers.get("x-request-id") ?? undefined;
	return { value, etag: headers.get("etag"), status, requestId };
}
