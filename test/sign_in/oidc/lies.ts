/** Documents of an OpenID Connect provider that are wrong. */
import type { Said } from "../../support/liar.ts";

/** Returns the kind of a liar whose documents have other values. */
export const saying = (said: Said) => `says_${Buffer.from(JSON.stringify(said)).toString("hex")}`;

/** Names and values in a discovery with which no sign-in starts. */
export const MISLEADING: [string, unknown][] = [
	["authorization_endpoint", "javascript:alert(1)"],
	["authorization_endpoint", 5],
	["issuer", null],
	["issuer", "x"],
];

export const KEY_WITHOUT_NUMBERS = { keys: { keys: [{ kty: "RSA", kid: "1", use: "sig" }] } };

/** Documents with which no ID token can be verified. */
export const UNVERIFIABLE: [string, Said][] = [
	["a list of key URLs", { discovery: { jwks_uri: ["x"] } }],
	["a key URL that isn't one", { discovery: { jwks_uri: "x" } }],
	["an object as token endpoint", { discovery: { token_endpoint: {} } }],
	["no algorithm", { discovery: { id_token_signing_alg_values_supported: ["none"] } }],
	["no keys", { keys: { keys: [] } }],
	["keys that are no objects", { keys: { keys: [5, null] } }],
	["a key without its numbers", KEY_WITHOUT_NUMBERS],
	["keys that are no list", { keys: { keys: "none" } }],
];
