import type { Domain } from "tenantry-client";

type Enforcement = Domain["sso_enforcement"];

/** The ways in which people of a domain can be made to sign in. */
export const ENFORCEMENTS: readonly (readonly [value: Enforcement, words: string])[] = [
	["", "Any way"],
	["saml", "SAML"],
	["google-oauth2", "Google"],
	["github", "GitHub"],
	["gitlab", "GitLab"],
];

export const enforcementName = (enforcement: Enforcement) =>
	ENFORCEMENTS.find(([value]) => value === enforcement)?.[1] ?? enforcement;

/** The choice that a form has. */
export const enforcementOf = (chosen: string): Enforcement =>
	ENFORCEMENTS.find(([value]) => value === chosen)?.[0] ?? "";
