import type { personalApiKeys } from "../../db/schema/personal_api_keys.ts";

/** The tokens, and for a token exchange what was issued (RFC 8693, section 2.2.1). */
type Tokens = { access_token: string; refresh_token?: string; issued_token_type?: string };

/** Returns the response with tokens (RFC 6749, section 5.1). */
export const respond = (
	tokens: Tokens,
	{ expires_at, scopes }: Pick<typeof personalApiKeys.$inferSelect, "expires_at" | "scopes">,
) => ({
	...tokens,
	token_type: "Bearer",
	expires_in: Math.max(0, Math.floor((Date.parse(expires_at ?? "") - Date.now()) / 1000)),
	scope: scopes.join(" "),
});
