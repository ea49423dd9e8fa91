/** The fields of an error in a response, with its status and headers. */
export type ErrorFields = {
	type: string;
	code: string;
	detail: string;
	attr?: string | null;
	status?: number;
	headers?: Headers;
	cause?: unknown;
};

/** An error of a call: an error response of the service, or the reason why there is no response. */
export class TenantryError extends Error {
	override readonly name: string = "TenantryError";
	/**
	 * The type of the service's error, such as `validation_error`; `connection_error` if there is no
	 * response; `webhook_error` from `verifyWebhook`.
	 */
	readonly type: string;
	/** The error code, such as `required`; `timeout` or `network` if there is no response. */
	readonly code: string;
	/** A message for people. */
	readonly detail: string;
	/** The field that caused the error, such as `destination__config`. */
	readonly attr: string | null;
	/** The status of the response; 0 if there is none. */
	readonly status: number;
	/** The headers of the response; empty if there is none. */
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

	/** The id of the request in the service's log; null if there is no response. */
	get requestId() {
		return this.headers.get("x-request-id");
	}
}

/**
 * The object has changed since it was read (412). Read it again, and decide whether your change
 * still applies.
 */
export class PreconditionFailedError extends TenantryError {
	override readonly name = "PreconditionFailedError";
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null;

/**
 * Returns the error of a response. The body may be of any format, because a proxy can respond too.
 * @param hint added to the message of a 401
 */
export function errorOf({ status, statusText, headers }: Response, body: string, hint = "") {
	let fields: Record<string, unknown> = {};
	try {
		const parsed: unknown = JSON.parse(body);
		if (isObject(parsed)) fields = parsed;
	} catch {
		// The response isn't from the service.
	}
	const text = (value: unknown, otherwise: string) =>
		typeof value === "string" ? value : otherwise;
	const detail = text(fields.detail, `${status} ${statusText}`.trim());
	const Kind = status === 412 ? PreconditionFailedError : TenantryError;
	return new Kind({
		type: text(fields.type, "http_error"),
		code: text(fields.code, String(status)),
		detail: status === 401 && hint ? `${detail} ${hint}` : detail,
		attr: typeof fields.attr === "string" ? fields.attr : null,
		status,
		headers,
	});
}
