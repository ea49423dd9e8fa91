/** As in `SignInError`. */
type Code = "invalid_response" | "not_configured" | "provider_denied";

/**
 * Why a response is rejected. It is thrown inside the isolate of SAML, whose caller gets a code and
 * the detail for the admin.
 */
export class ResponseError extends Error {
	override name = "ResponseError";
	readonly code: Code;
	constructor(detail: string, code: Code = "invalid_response") {
		super(detail);
		this.code = code;
	}
}
