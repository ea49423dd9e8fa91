/** What an error says; the fields of the service's error, and where they came from. */
export type ErrorFields = {
	type: string;
	code: string;
	detail: string;
	attr?: string | null;
	status?: number;
	headers?: Headers;
	cause?: unknown;
};

/** Every error of a call: what the service answered, or why there is no answer. */
export class TenantryError extends Error {
	override readonly name: string = "TenantryError";
	/**
	 * The service's kind of error, such as `validation_error`. `connection_error` if there was no
	 * answer; `webhook_error` from `verifyWebhook`.
	 */
	readonly type: string;
	/** What is wrong, such as `required`; `timeout` or `network` if there was no answer. */
	readonly code: string;
	/** A sentence for people. */
	readonly detail: string;
	/** The field at fault, such as `destination__config`. */
	readonly attr: string | null;
	/** The status of the response; 0 if there was none. */
	readonly status: number;
	/** The headers of the response; empty if there was none. */
	readonly headers: Headers;

	constructor({ type, code, detail, attr, status, headers, cause }: ErrorFields) {
		super(detail, { cause });
		this.type = type;
		this.code = code;
		this.detail = detail;
		this.attr = attr ?? null;
		this.status = status ?? 0;
		this.headers = headers ?? new Headers();
	}

	/** The id of the request in the service's log. */
	get requestId() {
		return this.headers.get("x-request-id");
	}
}

/** 412: the object is no longer as it was when it was read. Read it again and decide anew. */
export class PreconditionFailedError extends TenantryError {
	override readonly name = "PreconditionFailedError";
}

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null;

/** The error of a response. A proxy in between may answer with something else than the service. */
export function errorOf({ status, statusText, headers }: Response, body: string) {
	let fields: Record<string, unknown> = {};
	try {
		const parsed: unknown = JSON.parse(body);
		if (isObject(parsed)) fields = parsed;
	} catch {
		// Not the service's.
	}
	const text = (value: unknown, otherwise: string) =>
		typeof value === "string" ? value : otherwise;
	const Kind = status === 412 ? PreconditionFailedError : TenantryError;
	return new Kind({
		type: text(fields.type, "http_error"),
		code: text(fields.code, String(status)),
		detail: text(fields.detail, `${status} ${statusText}`.trim()),
		attr: typeof fields.attr === "string" ? fields.attr : null,
		status,
		headers,
	});
}
