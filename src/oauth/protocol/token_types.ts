/* The names of the token exchange (RFC 8693, sections 2.1 and 3). */

export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

/** What can be exchanged. An ID token is a JWT, too. */
export const SUBJECT_TOKEN_TYPES = [
	"urn:ietf:params:oauth:token-type:jwt",
	"urn:ietf:params:oauth:token-type:id_token",
];
