/**
 * Why a sign-in through a provider failed (docs/sign-on.md#when-a-sign-in-fails). The
 * console has the words for the person who signs in. The activity log has the code, and details for
 * the admin.
 */
export const PROBLEMS = [
	"account_deactivated",
	"account_not_linked",
	"domain_not_verified",
	"email_missing",
	"email_not_verified",
	"expired",
	"invalid_response",
	"linked_to_another",
	"no_account",
	"not_configured",
	"not_started_here",
	"provider_denied",
	"provider_unavailable",
	"too_many_attempts",
	"unavailable",
	"wrong_domain",
] as const;

export type Problem = (typeof PROBLEMS)[number];

/**
 * The person who tried: the address, the organization of its domain, and for the test of a
 * connection everything that the provider said.
 */
type About = {
	email?: string;
	organization_id?: number | undefined;
	claims?: Record<string, unknown>;
};

export class SignInError extends Error {
	readonly code: Problem;
	readonly about: About;

	/** @param detail for admins, without secrets; can contain text of the provider */
	constructor(code: Problem, detail: string, about: About = {}) {
		super(detail);
		this.code = code;
		this.about = about;
	}
}

export const expired = () =>
	new SignInError("expired", "The sign-in is unknown, used, too old, or of another browser.");
