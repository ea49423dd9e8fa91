/** Why a sign-in through a provider failed, in words for the person who signs in. */
const WORDS: Record<string, string> = {
	account_deactivated: "Your account is deactivated. Ask an admin of your organization.",
	account_not_linked:
		"There is an account with your email address, but it doesn't sign in through this provider. Sign in with a link by mail.",
	domain_not_verified:
		"Your organization hasn't verified its domain yet, so its provider can't sign you in.",
	email_missing: "The provider didn't say what your email address is. Ask your admin to share it.",
	email_not_verified:
		"The provider hasn't verified your email address. Verify it there, then try again.",
	expired: "The sign-in took too long, or was started in another browser. Try again.",
	invalid_response:
		"The provider's response couldn't be checked. Try again. If that doesn't help, tell your admin.",
	linked_to_another:
		"Your account here is linked to another account at the provider, perhaps an earlier one of yours. Sign in there with that one. If you no longer have it, ask an admin of your organization to unlink it under Members, then try again.",
	no_account: "There is no account with your email address. Ask your admin for an invite.",
	not_configured: "This provider isn't set up. Sign in in another way, or tell your admin.",
	not_started_here:
		"Your organization doesn't allow starting at the provider. Enter your address here instead.",
	provider_denied:
		"The provider didn't sign you in. Perhaps you cancelled, or may not use this app.",
	provider_unavailable: "The provider can't be reached. Try again later, or tell your admin.",
	too_many_attempts: "There were too many attempts. Wait a minute, then try again.",
	unavailable: "Signing in isn't available at the moment. Try again later.",
	wrong_domain:
		"Your email address at the provider isn't one of your organization's domain. Use your work account.",
};

/**
 * Returns the words for a code in the URL; undefined if there is none. Anyone can write a URL, so
 * its own text is never shown.
 */
export const problemOf = (code: string | null) =>
	code === null
		? undefined
		: (new Map(Object.entries(WORDS)).get(code) ?? "Signing in didn't work. Try again.");
