/** The beginning of a token, which tells it from an API key (docs/sign-on.md#tokens). */
export const TOKEN_PREFIX = "tnt_scim_";
